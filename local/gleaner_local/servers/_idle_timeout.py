"""Bounds connections, so that they do not use up the files that this process may open.

uvicorn closes idle connections only after a response, not those that send no request or half of one. It also accepts
any number of them; without a free file it cannot even refuse one.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_REFUSED_SECONDS = 0.5
_BUSY = (
    b'{"type":"urn:gleaner:problem:service-unavailable","title":"Service unavailable","status":503,'
    b'"detail":"This machine has no more connections. Close some, or try again later."}'
)
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
    b"retry-after: 5\r\ncontent-length: %d\r\n\r\n%s" % (len(_BUSY), _BUSY)
)


class IdleTimeoutProtocol(H11Protocol):
    """HTTP/1.1 that waits at most `idle_seconds` for the next bytes of a request, on at most `max_connections`."""

    def __init__(self, *arguments: Any, idle_seconds: float, max_connections: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle_seconds = idle_seconds
        self._max_connections = max_connections
        self._is_refused = False
        self._idle_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request, or refuse the connection."""
        super().connection_made(transport)
        if len(self.connections) > self._max_connections:
            self._is_refused = True
            transport.write(_REFUSAL)
            # Closed at once, a connection whose request is still on its way is reset before the refusal is read.
            self.loop.call_later(_REFUSED_SECONDS, transport.close)
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait anew, unless the connection was refused."""
        if self._is_refused:
            return
        self._wait()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = self.loop.call_later(self._idle_seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        """Close the connection unless a complete request is being answered; uvicorn waits for the next one itself."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing():
            self.transport.close()
