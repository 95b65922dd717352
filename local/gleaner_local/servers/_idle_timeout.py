"""Closes connections that send nothing, so that they do not use up the files that this process may open.

uvicorn closes idle connections only after a response, not those that send no request or half of one.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class IdleTimeoutProtocol(H11Protocol):
    """HTTP/1.1 that waits at most `idle_seconds` for the next bytes of a request."""

    def __init__(self, *arguments: Any, idle_seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle_seconds = idle_seconds
        self._idle_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait anew."""
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
