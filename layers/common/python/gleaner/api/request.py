"""What a route knows of the request it serves, and how routes are declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from gleaner.api.caller import Caller
from gleaner.deadline import Deadline

JSON = "application/json"
QUERY_ID_HEADER = "X-Query-Id"

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request: its id, who makes it, and how long it may take."""

    query_id: str
    caller: Caller
    deadline: Deadline


Current = Callable[[], RequestContext]  # the request that is served now


@dataclass(frozen=True, slots=True)
class Route:
    """A method and path, and the handler whose annotations say what it takes and gives."""

    method: str
    path: str
    handler: Callable[..., Response[Any]]


def ok(body: Body, *, query_id: str | None = None, status: HTTPStatus = HTTPStatus.OK) -> Response[Body]:
    """A JSON answer."""
    headers: dict[str, str | list[str]] = {QUERY_ID_HEADER: query_id} if query_id else {}
    return Response(status.value, JSON, body, headers)
