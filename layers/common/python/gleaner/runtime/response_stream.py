"""Responses that are sent while they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class ClientGone(Exception):
    """Nobody reads the response any more."""


class ResponseStream(Protocol):
    """Where the response to one invocation is written; a plain answer of the handler is sent if it is never started."""

    def start(self, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Send the status and the headers. Raises ClientGone."""

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body now. Raises ClientGone."""


def find_stream(context: LambdaContext) -> ResponseStream | None:
    """The stream of the invocation; None where responses are sent whole."""
    stream: ResponseStream | None = getattr(context, "response_stream", None)
    return stream
