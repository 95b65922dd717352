"""Stores text of any length in items of bounded size: long text is compressed and cut into pieces."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

_MAX_INLINE_BYTES = 200_000  # UTF-8 bytes that are stored uncompressed
_MAX_PIECE_BYTES = 350_000  # DynamoDB limits an item to 400 KB, attribute names included


def pack(attribute: str, text: str) -> tuple[dict[str, Any], list[bytes]]:
    """The attributes that hold `text` in its item, and further pieces in order, each for an item of its own."""
    encoded = text.encode("utf-8")
    if len(encoded) <= _MAX_INLINE_BYTES:
        return {attribute: text}, []
    compressed = zlib.compress(encoded)
    pieces = [compressed[start : start + _MAX_PIECE_BYTES] for start in range(0, len(compressed), _MAX_PIECE_BYTES)]
    return {f"{attribute}_packed": pieces[0], f"{attribute}_pieces": len(pieces)}, pieces[1:]


def count_pieces(attribute: str, item: Mapping[str, Any]) -> int:
    """The number of further pieces of an item."""
    return int(item.get(f"{attribute}_pieces", 1)) - 1


def unpack(attribute: str, item: Mapping[str, Any], pieces: Sequence[bytes]) -> str:
    """The text that an item and its further pieces hold."""
    if attribute in item:
        return str(item[attribute])
    return zlib.decompress(b"".join([bytes(item[f"{attribute}_packed"]), *map(bytes, pieces)])).decode("utf-8")
