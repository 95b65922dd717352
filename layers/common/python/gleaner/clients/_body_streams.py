"""HTTP connections on which a chunked body can be read past the HTTP parser, several chunks at a time.

The parser costs more CPU time for one event of a model than everything else that is done with the event.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import getproxies

import httpcore2
import httpx2

from gleaner.clients._chunked_body import ChunkedBody

_HEAD_END = b"\r\n\r\n"
_MAX_READ_BYTES = 64 * 1024
_AT_ONCE_SECONDS = 0.001  # to read what is there takes no longer, unless the machine is busy


class BodyStream(httpcore2.NetworkStream):
    """A connection that gives the parser the head of a response alone, before it gives it anything of the body."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream
        self._head: bytes | None = b""  # of the response, as far as the parser has it; None once it is complete
        self._is_plain = False  # the head is complete, and its lines end as usual: the parser has nothing of the body
        self._held = b""  # was received, and the parser does not have it yet

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What the parser gets next."""
        if self._held:
            data, self._held = self._held, b""
        else:
            data = self._stream.read(max_bytes, timeout)
        return data if self._head is None else self._cut(self._head, data)

    def _cut(self, head: bytes, data: bytes) -> bytes:
        text = head + data
        end = text.find(_HEAD_END)
        if end < 0:
            self._head = text
            return data
        end += len(_HEAD_END)
        self._held = text[end:]
        is_interim = text[9:10] == b"1"  # such as 100 Continue: another head follows
        self._head = b"" if is_interim else None
        self._is_plain = not is_interim and text.count(b"\n", 0, end) == text.count(b"\r\n", 0, end)
        return text[len(head) : end]

    def read_chunks(self, read_pause: Callable[[float], float], timeout: float | None) -> Iterator[bytes]:
        """What is in the chunks of the body; the parser then gets the end of the body, or all that is no plain chunk.

        Where nothing is there to be read, it waits first: for the seconds that `read_pause` returns for the seconds
        that were waited for what was read last, 0.0 if it was there.
        """
        body, waited = ChunkedBody(), 0.0
        while self._is_plain and not body.is_over:
            if self._held:
                data, self._held = self._held, b""
            else:
                asked_at = time.monotonic()
                if not self._stream.get_extra_info("is_readable") and (pause := read_pause(waited)) > 0:
                    time.sleep(pause)
                paused_until = time.monotonic()
                data = self._stream.read(_MAX_READ_BYTES, timeout)
                read_at = time.monotonic()
                waited = read_at - asked_at if read_at - paused_until > _AT_ONCE_SECONDS else 0.0
            if not data:
                break
            if taken := body.take(data):
                yield taken
        self._held = body.rest + self._held

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a piece of a request, to which the response follows."""
        self._head, self._is_plain = b"", False
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """The same connection, encrypted."""
        return BodyStream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """A fact about the connection."""
        return True if info == "is_readable" and self._held else self._stream.get_extra_info(info)


class _Backend(httpcore2.SyncBackend):
    def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:
        return BodyStream(super().connect_tcp(*args, **options))


class _Transport(httpx2.HTTPTransport):
    """A transport for HTTP/1.1 without a proxy. The one of the HTTP client takes no network backend."""

    def __init__(self, ssl_context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl_context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(),
        )


def body_stream_mounts(ssl_context: ssl.SSLContext, limits: httpx2.Limits) -> dict[str, httpx2.BaseTransport]:
    """The transport of an HTTP client for requests that go through no proxy.

    A proxy of the environment for one scheme takes precedence; one for all would not, so there is no transport then.
    """
    return {} if getproxies().get("all") else {"all://": _Transport(ssl_context, limits)}
