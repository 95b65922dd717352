"""Converts Python values to DynamoDB attribute values and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer

_serializer = TypeSerializer()
_deserializer = TypeDeserializer()


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert to attribute values. None is omitted, floats become numbers, datetimes become ISO 8601 text."""
    return {name: _serializer.serialize(_encode(value)) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Convert to Python values. Integral numbers become int, others float."""
    return {name: _decode(_deserializer.deserialize(value)) for name, value in item.items()}


def to_timestamp(moment: datetime) -> str:
    """Format an aware datetime as ISO 8601 text of fixed width, which sorts by time."""
    return moment.isoformat(timespec="microseconds")


def from_timestamp(text: str) -> datetime:
    """Parse text written by `to_timestamp`."""
    return datetime.fromisoformat(text)


def _encode(value: Any) -> Any:
    match value:
        case float():
            return Decimal(str(value))
        case datetime():
            return to_timestamp(value)
        case Mapping():
            return {name: _encode(inner) for name, inner in value.items() if inner is not None}
        case list() | tuple():
            return [_encode(inner) for inner in value]
        case _:
            return value


def _decode(value: Any) -> Any:
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Binary():
            content: bytes = value.value  # type: ignore[attr-defined]  # missing from the stubs
            return content
        case dict():
            return {name: _decode(inner) for name, inner in value.items()}
        case list():
            return [_decode(inner) for inner in value]
        case _:
            return value
