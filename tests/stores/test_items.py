"""Attribute values, against boto3's own serializer and deserializer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.stores.items import from_item, to_item
from tests.examples import examples

_NUMBERS = st.integers(-(10**37), 10**37) | st.floats(
    allow_nan=False, allow_infinity=False, min_value=1e-90, max_value=1e90
)
_SETS = st.sets(st.text(min_size=1), min_size=1) | st.sets(st.binary(min_size=1), min_size=1)
_LEAVES = st.none() | st.booleans() | _NUMBERS | st.text() | st.binary()
_VALUES = st.recursive(
    _LEAVES | _SETS, lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1), inner), max_leaves=10
)


def without_none(value: Any) -> Any:
    """What is stored of a value: no attributes without one, and numbers as decimals."""
    match value:
        case bool():
            return value
        case float():
            return Decimal(str(value))
        case dict():
            return {name: without_none(inner) for name, inner in value.items() if inner is not None}
        case list():
            return [without_none(inner) for inner in value]
        case _:
            return value


def as_read(value: Any) -> Any:
    """What boto3 deserializes, with the numbers and bytes that stores work with."""
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Binary():
            return bytes(value)
        case set():
            return {as_read(inner) for inner in value}
        case dict():
            return {name: as_read(inner) for name, inner in value.items()}
        case list():
            return [as_read(inner) for inner in value]
        case _:
            return value


@settings(max_examples=examples(50, 300))
@given(st.dictionaries(st.text(min_size=1), _VALUES))
def test_items_are_those_of_boto3(item: dict[str, Any]) -> None:
    serializer, deserializer = TypeSerializer(), TypeDeserializer()
    expected = {name: serializer.serialize(value) for name, value in without_none(item).items()}
    assert to_item(item) == expected
    assert from_item(expected) == {name: as_read(deserializer.deserialize(value)) for name, value in expected.items()}
