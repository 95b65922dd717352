"""Reads items as they are stored, with what is packed in them, so that a test finds every word of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gleaner.stores.items import from_item, unpack_json

PACKED = ("content", "result")  # of stored answers and shared web searches; `read_calls` reads records of tool calls


def read_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an item as DynamoDB returns it."""
    values = from_item(item)
    return values | {name: unpack_json(values[name]) for name in PACKED if isinstance(values.get(name), bytes)}
