"""Responses that are sent while they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# The methods whose responses API Gateway streams, as HTTP method and resource of their events. Whatever the function
# answers to these must have the form of a stream, and whatever it answers to others must not: the event says nothing
# about it but its resource. infra/constructs/query_api.py deploys the same list, which tests/seams/ compares.
STREAMED = frozenset(
    {
        ("POST", "/api/chat/stream"),
        ("POST", "/api/sessions/{session_id}/chat/stream"),
        ("POST", "/v1/chat/completions"),
    }
)


class ClientGone(Exception):
    """Nobody reads the response any more."""


class ResponseStream(Protocol):
    """Where the response to one invocation is written; a plain answer of the handler is sent if it is never started.

    Threads may write in turns.
    """

    def start(self, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Set the status and the headers, which go out with the first piece of the body, or at the end."""

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body now; waits while the client reads more slowly. Raises ClientGone."""


def is_streamed(event: Mapping[str, Any]) -> bool:
    """Whether a REST proxy event came by a method whose responses are streamed."""
    return (event.get("httpMethod"), event.get("resource")) in STREAMED


def find_stream(context: LambdaContext) -> ResponseStream | None:
    """The stream of the invocation; None where responses are sent whole."""
    stream: ResponseStream | None = getattr(context, "response_stream", None)
    return stream
