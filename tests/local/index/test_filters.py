"""Metadata filters, compared with a plain implementation of the filter language."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients.pinecone_records import readable_by
from gleaner_local.index.filters import FilterInvalid, compile_filter

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0]), st.sampled_from(["", "x", "y"]))
FIELDS = st.dictionaries(NAMES, SCALARS | st.lists(st.sampled_from(["x", "y", "z"]), max_size=2))
CONDITIONS = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), SCALARS),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-2, 2) | st.just(0.5)),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
)
CLAUSES = st.tuples(NAMES, CONDITIONS).map(lambda pair: {pair[0]: {pair[1][0]: pair[1][1]}})
FILTERS = st.recursive(
    CLAUSES,
    lambda inner: st.tuples(st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: {pair[0]: pair[1]}
    ),
    max_leaves=6,
)


def same(left: Any, right: Any) -> bool:
    """JSON equality: a boolean is not a number."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def holds(name: str, symbol: str, operand: Any, fields: dict[str, Any]) -> bool:  # noqa: PLR0911
    """One condition, spelled out."""
    value = fields.get(name)
    values = value if isinstance(value, list) else [value] if name in fields else []
    match symbol:
        case "$exists":
            return (name in fields) is operand
        case "$eq":
            return any(same(item, operand) for item in values)
        case "$ne":
            return not any(same(item, operand) for item in values)
        case "$in":
            return any(same(item, accepted) for item in values for accepted in operand)
        case "$nin":
            return not any(same(item, accepted) for item in values for accepted in operand)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    compare = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}[symbol]
    return bool(compare(value, operand))


def expected(expression: dict[str, Any], fields: dict[str, Any]) -> bool:
    """The complete filter, spelled out."""
    ((name, operand),) = expression.items()
    if name == "$and":
        return all(expected(part, fields) for part in operand)
    if name == "$or":
        return any(expected(part, fields) for part in operand)
    ((symbol, value),) = operand.items()
    return holds(name, symbol, value, fields)


@given(FILTERS, FIELDS)
def test_a_filter_agrees_with_its_definition(expression: dict[str, Any], fields: dict[str, Any]) -> None:
    assert compile_filter(expression)(fields) == expected(expression, fields)


@given(st.lists(CLAUSES, min_size=2, max_size=3), FIELDS)
def test_several_conditions_are_a_conjunction(clauses: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    merged = {name: condition for clause in clauses for name, condition in clause.items()}
    each = all(compile_filter({name: condition})(fields) for name, condition in merged.items())
    assert compile_filter(merged)(fields) == each


def test_a_bare_value_means_equality() -> None:
    assert compile_filter({"lang": "en"})({"lang": "en"})
    assert not compile_filter({"lang": "en"})({"lang": "de"})


@pytest.mark.parametrize(
    "expression",
    [
        {},
        [],
        "lang",
        {"$and": []},
        {"$or": {"a": 1}},
        {"$not": [{"a": 1}]},
        {"a": {}},
        {"a": {"$regex": "x"}},
        {"a": {"$gt": "x"}},
        {"a": {"$gt": True}},
        {"a": {"$in": "x"}},
        {"a": {"$in": [["x"]]}},
        {"a": {"$eq": None}},
        {"a": {"$exists": 1}},
        {"a": [1, 2]},
    ],
)
def test_invalid_filters_are_rejected(expression: object) -> None:
    with pytest.raises(FilterInvalid):
        compile_filter(expression)


@pytest.mark.parametrize("acl", [None, [], ["hr"], ["hr", "board"], ["staff"], "hr", "staff", True])
@pytest.mark.parametrize("own", [(), ("hr",), ("board", "x")])
def test_the_filter_of_groups_matches_what_pinecone_documents(acl: Any, own: tuple[str, ...]) -> None:
    """A list matches if any of its items does: docs.pinecone.io/guides/search/filter-by-metadata."""
    fields = {} if acl is None else {"acl": acl}
    names = acl if isinstance(acl, list) else [acl]
    for extra in ({"owner": {"$exists": False}}, {"owner": {"$eq": "a"}}):
        matches = compile_filter({"$and": [extra, readable_by(own)]})
        is_readable = acl is None or any(name in own for name in names)
        assert matches(fields | ({"owner": "a"} if "$eq" in extra["owner"] else {})) == is_readable
        assert not matches(fields | {"owner": "b"})
