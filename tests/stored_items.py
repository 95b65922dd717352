"""Reads items as they are stored, with what is packed in them, so that a test finds every word of a table.

Compressed bytes must not be searched: they hide words, and may hold any three letters by chance.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from gleaner.stores.items import from_item, pack_json
from gleaner.stores.tool_calls import ToolCallRecord, read_calls


def read_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an item as DynamoDB returns it, unpacked."""
    return {name: _unpack(value) if isinstance(value, bytes) else value for name, value in from_item(item).items()}


def read_records(item: Mapping[str, Any]) -> list[ToolCallRecord]:
    """The records of tool calls of an item that `read_item` returned."""
    return read_calls({name: pack_json(value) if name == "calls" else value for name, value in item.items()})


def _unpack(value: bytes) -> Any:
    """Packed JSON, or packed text (its beginning, if further items hold the rest). Those further items stay bytes."""
    try:
        text = zlib.decompressobj().decompress(value).decode("utf-8", "ignore")
    except zlib.error:
        return value
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
