"""Takes the chunked encoding of HTTP/1.1 off a body: only what every server writes, without extensions and trailers."""

from __future__ import annotations

import re

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_MAX_SIZE_LINE = 10
_END = b"\r\n"


class ChunkedBody:
    """A body that arrives in arbitrary pieces. Whatever is no chunk with bytes in it is left to a real HTTP parser."""

    def __init__(self) -> None:
        self.rest = b""  # not taken
        self.is_over = False  # the rest, and what follows, is for the parser
        self._left = 0  # bytes of the chunk
        self._is_open = False  # the end of the chunk is due

    def take(self, data: bytes) -> bytes:
        """The bytes of the body in the next piece."""
        data, parts, at = self.rest + data, list[bytes](), 0
        while not self.is_over:
            if self._left:
                parts.append(data[at : at + self._left])
                at += len(parts[-1])
                self._left -= len(parts[-1])
            if self._left:
                break
            if self._is_open:
                end = data[at : at + len(_END)]
                if end != _END:
                    if not _END.startswith(end):
                        # An empty line is no size: the parser refuses it, as it refuses a chunk that goes on.
                        data, at, self.is_over = _END, 0, True
                    break
                at += len(_END)
                self._is_open = False
            size = _SIZE.match(data, at)
            if size is None or not (length := int(size[1], 16)):
                line = data[at : at + _MAX_SIZE_LINE]
                self.is_over = size is not None or len(line) == _MAX_SIZE_LINE or b"\n" in line
                break
            self._left, self._is_open, at = length, True, size.end()
        self.rest = data[at:]
        return b"".join(parts)
