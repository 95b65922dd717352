"""Converts Python values to DynamoDB attribute values and back, and packs what only programs read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import DYNAMODB_CONTEXT, TypeSerializer

_serializer = TypeSerializer()


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert to attribute values. None is omitted, floats become numbers, datetimes become ISO 8601 text."""
    return {name: _encode(value) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Convert to Python values. Integral numbers become int, others float."""
    return {name: _decode(value) for name, value in item.items()}


def to_timestamp(moment: datetime) -> str:
    """Format an aware datetime as ISO 8601 text of fixed width, which sorts by time."""
    return moment.isoformat(timespec="microseconds")


def from_timestamp(text: str) -> datetime:
    """Parse text written by `to_timestamp`."""
    return datetime.fromisoformat(text)


def pack_json(value: Any) -> bytes:
    """JSON in compressed form: DynamoDB charges for each kilobyte written. Lone surrogates become question marks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "replace"), level=9)


def unpack_json(packed: bytes) -> Any:
    """What `pack_json` was given."""
    return json.loads(zlib.decompress(packed))


def _encode(value: Any) -> dict[str, Any]:
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    return _encode_as_boto3(value)  # sets, and what no store writes


def _encode_as_boto3(value: Any) -> dict[str, Any]:
    encoded: Any = _serializer.serialize(value)
    return dict(encoded)


def _decode(value: Mapping[str, Any]) -> Any:
    [(kind, content)] = value.items()
    decode = _DECODERS.get(kind)
    return content if decode is None else decode(content)  # text, truth values and bytes are as they are


def _to_number(text: str) -> int | float:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else float(number)


# boto3's TypeSerializer asks up to ten questions about each value, and its counterpart copies each list and object.
_ENCODERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    str: lambda value: {"S": value},
    bytes: lambda value: {"B": value},
    bool: lambda value: {"BOOL": value},
    int: lambda value: {"N": str(DYNAMODB_CONTEXT.create_decimal(value))},
    float: lambda value: _encode_as_boto3(Decimal(str(value))),
    datetime: lambda value: {"S": to_timestamp(value)},
    dict: lambda value: {"M": to_item(value)},
    list: lambda value: {"L": [_encode(inner) for inner in value]},
    tuple: lambda value: {"L": [_encode(inner) for inner in value]},
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "N": _to_number,
    "L": lambda content: [_decode(inner) for inner in content],
    "M": from_item,
    "SS": set,
    "BS": set,
    "NS": lambda content: {Decimal(number) for number in content},
    "NULL": lambda _: None,
}
