"""Messages between the reading process and its caller: a length, then bytes.

What comes back is JSON: a worker that a file took over must not be able to run code in the caller.
"""

from __future__ import annotations

import struct
from typing import IO

OUT_OF_MEMORY = "MemoryError"
READY = b"ready"  # the first message of a worker
_LENGTH = struct.Struct(">Q")


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message. Raises OSError if the other side is gone."""
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The next message. Raises EOFError if the other side is gone."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    message = stream.read(count)
    if len(message) < count:
        raise EOFError
    return message
