"""Text of any length in items of bounded size: compressed above a size, then cut into pieces."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

_INLINE_BYTES = 200_000  # of UTF-8 that stand in the item as they are
_PIECE_BYTES = 350_000  # an item may hold 400 KB, names and other attributes included


def pack(attribute: str, text: str) -> tuple[dict[str, Any], list[bytes]]:
    """The attributes that hold `text` in its item, and the pieces that need items of their own, in order."""
    encoded = text.encode("utf-8")
    if len(encoded) <= _INLINE_BYTES:
        return {attribute: text}, []
    packed = zlib.compress(encoded)
    pieces = [packed[start : start + _PIECE_BYTES] for start in range(0, len(packed), _PIECE_BYTES)]
    return {f"{attribute}_packed": pieces[0], f"{attribute}_pieces": len(pieces)}, pieces[1:]


def piece_count(attribute: str, item: Mapping[str, Any]) -> int:
    """How many further pieces belong to an item."""
    return int(item.get(f"{attribute}_pieces", 1)) - 1


def unpack(attribute: str, item: Mapping[str, Any], pieces: Sequence[bytes]) -> str:
    """The text of an item and its further pieces."""
    if attribute in item:
        return str(item[attribute])
    return zlib.decompress(b"".join([bytes(item[f"{attribute}_packed"]), *map(bytes, pieces)])).decode("utf-8")
