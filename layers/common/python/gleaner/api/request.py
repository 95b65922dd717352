"""The request that is being served, and the JSON response to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from gleaner.answering.events import Sink, ignore
from gleaner.api._caller import Caller
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from gleaner.api.protocols.encoder import Encoder

JSON = "application/json"
STORE_FAILURES = (StoreUnavailable, DeadlineExceeded)  # raised by every handler that uses the store

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: its ids, its caller, and how long it may take."""

    query_id: str
    request_id: str  # the gateway's, which its access log has
    caller: Caller
    deadline: Deadline
    lambda_context: LambdaContext
    base_path: str = ""  # the prefix of the path in the client's URL: the stage, or nothing
    origin: str = ""  # scheme and host in the client's URL; empty if the request does not tell
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by name in lower case
    body: str = ""  # the text of the body, for routes that read it themselves
    emit: Sink = ignore  # where the events of an answer go
    # For a request that says itself whether its answer streams: begins a stream in this form, and returns its sink.
    stream_as: Callable[[Encoder], Sink] = lambda _encoder: ignore

    def absolute(self, path: str) -> str:
        """The URL of a path of the API, as far as the request tells it."""
        return f"{self.origin}{self.base_path}{path}"


Current = Callable[[], RequestContext]  # returns the request that is being served


def ok(body: Body, *, status: HTTPStatus = HTTPStatus.OK) -> Response[Body]:
    """A JSON response."""
    return Response(status.value, JSON, body)
