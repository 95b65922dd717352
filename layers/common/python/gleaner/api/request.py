"""What a route knows of the request it serves, and how routes are declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from gleaner.api.caller import Caller
from gleaner.deadline import Deadline

JSON = "application/json"

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: its id, who makes it, and how long it may take."""

    query_id: str
    caller: Caller
    deadline: Deadline
    lambda_context: LambdaContext


Current = Callable[[], RequestContext]  # the request that is served now


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path, and the handler whose annotations say what it takes and gives."""

    method: str
    path: str
    handler: Callable[..., Response[Any]]


def ok(body: Body, *, status: HTTPStatus = HTTPStatus.OK) -> Response[Body]:
    """A JSON answer."""
    return Response(status.value, JSON, body)
