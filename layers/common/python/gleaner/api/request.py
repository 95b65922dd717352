"""What a route knows of the request it serves, and how routes are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from gleaner.api._caller import Caller
from gleaner.errors import DeadlineExceeded, GleanerError, StoreUnavailable
from gleaner.runtime.deadline import Deadline

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

JSON = "application/json"
STORE_FAILURES = (StoreUnavailable, DeadlineExceeded)  # what every handler raises that reads or writes the store

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: its id, who makes it, and how long it may take."""

    query_id: str
    caller: Caller
    deadline: Deadline
    lambda_context: LambdaContext
    base_path: str = ""  # what stands before a route's path in the client's URL: the stage, or nothing


Current = Callable[[], RequestContext]  # the request that is served now


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path, and the handler whose annotations say what it takes and gives.

    This is all that the description of the API needs; what any handler may answer (to an invalid parameter,
    another content type, an unforeseen error) it adds by itself.
    """

    method: str
    path: str
    handler: Callable[..., Response[Any]]
    _: KW_ONLY
    summary: str
    raises: tuple[type[GleanerError], ...] = ()
    status: HTTPStatus = HTTPStatus.OK
    # Schemas by content type, for a success that is not the JSON of the handler's annotation.
    content: Mapping[str, Any] | None = None


def ok(body: Body, *, status: HTTPStatus = HTTPStatus.OK) -> Response[Body]:
    """A JSON answer."""
    return Response(status.value, JSON, body)
