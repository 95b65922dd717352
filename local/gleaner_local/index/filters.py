"""Metadata filters in the language of the Pinecone data plane, as predicates on a record's fields."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]
Predicate = Callable[[Fields], bool]

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class FilterInvalid(ValueError):
    """The filter is invalid; the message says why."""


def compile_filter(expression: object) -> Predicate:
    """Compile a filter expression into a predicate.

    A list field matches `$eq` and `$in` if any of its items does. A record without the field matches `$ne` and
    `$nin`, and no other comparison. Values of different types are never equal (1 is not true).
    Raises FilterInvalid.
    """
    if not isinstance(expression, Mapping) or not expression:
        raise FilterInvalid("A filter must be an object with at least one condition.")
    return _all([_clause(name, operand) for name, operand in expression.items()])


def _clause(name: str, operand: object) -> Predicate:
    if name in ("$and", "$or"):
        if not isinstance(operand, list) or not operand:
            raise FilterInvalid(f"{name} takes a list of at least one filter.")
        parts = [compile_filter(part) for part in operand]
        return _all(parts) if name == "$and" else _any(parts)
    if name.startswith("$"):
        raise FilterInvalid(f"{name} is not a logical operator.")
    if not isinstance(operand, Mapping):
        return _comparison(name, "$eq", operand)
    if not operand:
        raise FilterInvalid(f"The condition on {name!r} is empty.")
    return _all([_comparison(name, symbol, value) for symbol, value in operand.items()])


def _comparison(field: str, symbol: str, operand: object) -> Predicate:
    if symbol == "$exists":
        if not isinstance(operand, bool):
            raise FilterInvalid("$exists takes true or false.")
        return lambda fields: (field in fields) is operand
    if symbol in _ORDER:
        return _ordered(field, symbol, operand)
    if symbol in ("$eq", "$ne"):
        matches = _one_of(field, symbol, [operand])
    elif symbol in ("$in", "$nin"):
        if not isinstance(operand, list):
            raise FilterInvalid(f"{symbol} takes a list.")
        matches = _one_of(field, symbol, operand)
    else:
        raise FilterInvalid(f"{symbol} is not an operator.")
    if symbol in ("$ne", "$nin"):
        return lambda fields: not matches(fields)
    return matches


def _ordered(field: str, symbol: str, operand: object) -> Predicate:
    if not _is_number(operand):
        raise FilterInvalid(f"{symbol} takes a number.")
    compare = _ORDER[symbol]

    def matches(fields: Fields) -> bool:
        value = fields.get(field)
        return _is_number(value) and compare(value, operand)

    return matches


def _one_of(field: str, symbol: str, operands: list[Any]) -> Predicate:
    if not all(isinstance(operand, str | bool | int | float) for operand in operands):
        raise FilterInvalid(f"{symbol} compares with a string, number or boolean.")
    accepted = {_typed(operand) for operand in operands}

    def matches(fields: Fields) -> bool:
        value = fields.get(field)
        values = value if isinstance(value, list) else [value]
        return any(_typed(item) in accepted for item in values)

    return matches


def _typed(value: object) -> tuple[type, object]:
    """The value with its type: True and 1 are equal in Python, but not in JSON."""
    return (float if _is_number(value) else type(value), value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _all(parts: list[Predicate]) -> Predicate:
    return lambda fields: all(part(fields) for part in parts)


def _any(parts: list[Predicate]) -> Predicate:
    return lambda fields: any(part(fields) for part in parts)
