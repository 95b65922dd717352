"""Python values to DynamoDB attribute values and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer

_serializer = TypeSerializer()
_deserializer = TypeDeserializer()


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """Attribute values of `values`; None is left out, floats become numbers, moments ISO 8601 text."""
    return {name: _serializer.serialize(_encoded(value)) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Python values of an item; numbers are int where they are whole, else float."""
    return {name: _decoded(_deserializer.deserialize(value)) for name, value in item.items()}


def to_timestamp(moment: datetime) -> str:
    """ISO 8601 text of an aware moment, of fixed width so that it sorts by time."""
    return moment.isoformat(timespec="microseconds")


def from_timestamp(text: str) -> datetime:
    """The moment written by `to_timestamp`."""
    return datetime.fromisoformat(text)


def _encoded(value: Any) -> Any:
    match value:
        case float():
            return Decimal(str(value))
        case datetime():
            return to_timestamp(value)
        case Mapping():
            return {name: _encoded(inner) for name, inner in value.items() if inner is not None}
        case list() | tuple():
            return [_encoded(inner) for inner in value]
        case _:
            return value


def _decoded(value: Any) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Binary():
            content: bytes = value.value  # type: ignore[attr-defined]  # missing from the stubs
            return content
        case dict():
            return {name: _decoded(inner) for name, inner in value.items()}
        case list():
            return [_decoded(inner) for inner in value]
        case _:
            return value
