"""Opaque cursors: the position where a page of a list ended, which the caller sends back for the next page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence

from gleaner import text
from gleaner.errors import InvalidCursor

_CHECK_LENGTH = 8  # bytes


def encode(position: Sequence[str], *, scope: Sequence[str]) -> str:
    """The cursor of a position in the list that `scope` names by path, parameters and caller.

    The checksum catches mistakes and manual tampering. It is not access control: a forged position only points
    elsewhere in a list that the caller may read anyway.
    """
    payload = json.dumps(list(position)).encode()
    return base64.urlsafe_b64encode(_check(payload, scope) + payload).decode().rstrip("=")


def foreign() -> InvalidCursor:
    """The error for a cursor of another list, or of none."""
    return InvalidCursor("This cursor does not belong to this list. Leave it out to begin at the start.")


def decode_any(cursor: str | None, *, scope: Sequence[str]) -> tuple[str, ...] | None:
    """The position of a cursor, however long; None without a cursor. Raises InvalidCursor as `decode`."""
    if not cursor:
        return None
    position = _position(cursor, scope)
    # base64 can encode the same bytes in several ways; only the one that `encode` returned is accepted.
    if not position or encode(position, scope=scope) != cursor:
        raise foreign()
    return position


def decode(cursor: str, *, scope: Sequence[str], length: int) -> tuple[str, ...]:
    """The position, of `length` strings. Raises InvalidCursor unless `encode` returned this cursor for this scope."""
    position = decode_any(cursor, scope=scope)
    if position is None or len(position) != length:
        raise foreign()
    return position


def _position(cursor: str, scope: Sequence[str]) -> tuple[str, ...] | None:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        check, payload = raw[:_CHECK_LENGTH], raw[_CHECK_LENGTH:]
        position = json.loads(payload) if check == _check(payload, scope) else None
    except (binascii.Error, ValueError, RecursionError):
        return None
    # A position never contains an empty string, which cannot be a key, or a lone surrogate, which cannot be stored.
    if not isinstance(position, list) or not all(
        isinstance(part, str) and part and part == text.drop_surrogates(part) for part in position
    ):
        return None
    return tuple(position)


def _check(payload: bytes, scope: Sequence[str]) -> bytes:
    prefix = json.dumps(list(scope)).encode()
    return hashlib.sha256(prefix + b"\x00" + payload).digest()[:_CHECK_LENGTH]
