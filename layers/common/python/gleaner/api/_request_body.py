"""Decodes the body of a proxy event: base64, gzip and byte order marks."""

from __future__ import annotations

import base64
import gzip
import io
import zlib
from collections.abc import Mapping
from typing import Any

# In characters. The longest valid question has fewer, even with every character escaped as a surrogate pair.
MAX_BODY = 2_000_000
_MAX_BYTES = 4 * MAX_BODY  # the UTF-8 of that many characters
_NO_TEXT = "\ufffd"
UNKNOWN_ENCODING = '{"\ufffd": "encoding"}'  # in place of a body in an unsupported encoding: JSON of no request
BROKEN_GZIP = "\ufffdgzip"  # in place of a body that is said to be gzip, but is cut off, damaged or something else
_BYTE_ORDER_MARK = "\ufeff"  # some editors and clients write one; RFC 8259, section 8.1 allows to ignore it


class UnsupportedEncoding(Exception):
    """The body has a content encoding that is not supported."""


def decode_body(event: Mapping[str, Any]) -> str:
    """The text of the body, at most a little longer than MAX_BODY if it is compressed. Raises UnsupportedEncoding.

    A body that is not base64 of UTF-8 text or no valid gzip becomes one that is not JSON, so every route rejects it.
    """
    body = event.get("body") or ""
    encoding = _content_encoding(event)
    if not body:
        return ""
    if encoding not in ("", "gzip", "x-gzip"):  # two names of one encoding (RFC 9110, section 8.4.1.3)
        raise UnsupportedEncoding
    if not event.get("isBase64Encoded"):
        # A gateway that decompresses bodies may leave the header. One that passes bytes as text has destroyed them.
        if encoding and body.startswith("\x1f"):
            return BROKEN_GZIP
        return str(body).removeprefix(_BYTE_ORDER_MARK)
    try:
        data = base64.b64decode(body, validate=True)
        return (_decompress(data) if encoding else data.decode()).removeprefix(_BYTE_ORDER_MARK)
    except ValueError:  # also of base64, and of UTF-8
        return _NO_TEXT


def _content_encoding(event: Mapping[str, Any]) -> str:
    values = [str(value) for name, value in (event.get("headers") or {}).items() if name.lower() == "content-encoding"]
    return ",".join(values).strip().lower().replace("identity", "")


def _decompress(data: bytes) -> str:
    """Decompress gzip, but never more than one character above the limit: a small body may hold gigabytes."""
    if len(data) > _MAX_BYTES:
        return " " * (MAX_BODY + 1)  # refused for its length, like what it holds
    try:
        with gzip.open(io.BytesIO(data)) as reader:
            decompressed = reader.read(_MAX_BYTES + 4)
    except (OSError, EOFError, zlib.error):
        return BROKEN_GZIP
    # The text may be cut in the middle of a character; what precedes it is longer than the limit.
    return decompressed.decode(errors="ignore" if len(decompressed) > _MAX_BYTES else "strict")
