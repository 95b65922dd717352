"""What turns the events of an answer into server-sent events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gleaner.answering.events import Event

KEEP_ALIVE = b": keep-alive\n\n"  # a comment, which clients of server-sent events skip


class Encoder(Protocol):
    """Encodes one answer. The methods return bytes to send at once."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers by which clients recognize the protocol."""

    def encode(self, event: Event) -> bytes:
        """What an event tells the client; nothing for the last one, whose JSON `finish` is given."""

    def finish(self, body: str) -> bytes:
        """The end of an answer. `body` is the response to the same request without streaming, maybe a stored one."""

    def fail(self, problem: str) -> bytes:
        """The end of a question that failed; `problem` is the body of the error response."""
