"""Shared parts of the local JSON API servers: bearer check, body validation and error responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Parsed = TypeVar("Parsed", bound=BaseModel)

UNAUTHORIZED = 401
BAD_REQUEST = 400


class ApiError(Exception):
    """An error that becomes the response `{"error": {"message", "type", "code", "param"}}`."""

    def __init__(
        self,
        message: str,
        *,
        status: int = BAD_REQUEST,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "code": code, "param": param}}


@dataclass(frozen=True, slots=True)
class EventStream:
    """A response of server-sent events, which are at hand; each is sent as a chunk of its own."""

    events: Iterable[bytes]


Answer = Callable[[bytes], dict[str, Any] | EventStream]


def create_json_app(routes: dict[tuple[str, str], Answer]) -> Starlette:
    """Create an application that requires a bearer token and answers with JSON or, if asked for, with events.

    `routes` maps (method, path) to a function from request body to response body, which runs in a thread and may
    raise ApiError.
    """

    def route(method: str, path: str, answer: Answer) -> Route:
        async def endpoint(request: Request) -> Response:
            _require_bearer(request)
            body = await run_in_threadpool(answer, await request.body())
            if isinstance(body, EventStream):
                return StreamingResponse(_iterate(body.events), media_type="text/event-stream")
            return JSONResponse(body)

        return Route(path, endpoint, methods=[method])

    return Starlette(
        routes=[route(method, path, answer) for (method, path), answer in routes.items()],
        exception_handlers={ApiError: _api_error, HTTPException: _http_error, ClientDisconnect: _disconnected},
    )


def parse_body(model: type[Parsed], body: bytes) -> Parsed:
    """Parse the body as `model`. Raises ApiError that names the first invalid field."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        param = ".".join(str(part) for part in first["loc"]) or None
        detail = f"{param}: {first['msg']}" if param else first["msg"]
        raise ApiError(f"Invalid request. {detail}", code=first["type"], param=param) from error


async def _iterate(events: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Iterate here: Starlette would hand every single event to a thread."""
    for event in events:
        yield event


def _require_bearer(request: Request) -> None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise ApiError(
            "The API key is missing. Send one in an Authorization header: 'Bearer KEY'. Any key works locally.",
            status=UNAUTHORIZED,
            code="invalid_api_key",
        )


def _api_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    return JSONResponse(error.body, error.status)


def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    failure = ApiError(f"{error.detail}: {request.method} {request.url.path}", status=error.status_code)
    return JSONResponse(failure.body, failure.status)


def _disconnected(_: Request, __: Exception) -> Response:
    return Response(status_code=BAD_REQUEST)  # nobody reads it
