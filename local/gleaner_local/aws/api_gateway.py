"""API Gateway's REST proxy on this machine: HTTP requests become proxy events, answers become responses."""

from __future__ import annotations

import base64
import json
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router, request_response

from gleaner_local.aws import _web_pages
from gleaner_local.aws.execution_environment import HandlerFailed, HandlerTooSlow

LARGEST_BODY = 10 * 1024 * 1024  # bytes, API Gateway's limit
LOCAL_CALLER = "local"
ADMIN_CALLER = "admin"  # whom the local service takes for an admin
_STAGE = "local"
_IDS = ("X-Query-Id", "X-Request-Id")

logger = logging.getLogger(__name__)

Invoke = Callable[[dict[str, Any], str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the gateway answers by itself; what the deployed one answers too, in its words."""

    status: int
    slug: str
    detail: str


TOO_LARGE = Refusal(413, "payload-too-large", "The body is larger than 10 MB. Send less.")
TOO_SLOW = Refusal(504, "deadline-exceeded", "The answer took too long. Ask again.")
FUNCTION_FAILED = Refusal(502, "function-failed", "The function failed. Its log says why.")


def create_app(invoke: Invoke, *, origins: Collection[str] = ()) -> Router:
    """An application that hands every request of this machine to `invoke(event, request_id)`.

    `origins`: those whose pages may call. If there are any, pages may read the gateway's own refusals as well.
    """
    cross_origin = bool(origins)

    async def proxy(request: Request) -> Response:
        request_id = str(uuid.uuid4())
        if (objection := _web_pages.objection(request.headers, origins)) is not None:
            return _refused(Refusal(403, "not-allowed", objection), request_id, cross_origin=False)
        body = await _body(request)
        if body is None:
            return _refused(TOO_LARGE, request_id, cross_origin=cross_origin)
        try:
            answer = await run_in_threadpool(invoke, to_event(request, body, request_id), request_id)
        except HandlerFailed as failure:
            logger.exception("The function failed")
            refusal = TOO_SLOW if isinstance(failure, HandlerTooSlow) else FUNCTION_FAILED
            return _refused(refusal, request_id, cross_origin=cross_origin)
        return to_response(answer)

    # Without routes, whatever comes is handed on: no pattern of a route matches a line break in a path.
    return Router(default=request_response(proxy))


def to_event(request: Request, body: bytes, request_id: str) -> dict[str, Any]:
    """The REST API proxy event (payload version 1.0) of an HTTP request.

    The `x-api-key` header names the caller, as the key's id would; without it the caller is `local`.
    """
    headers: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in request.headers.items():
        headers[name].append(value)
    query: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in request.query_params.multi_items():
        query[name].append(value)
    text, is_base64 = _as_text(body)
    return {
        "resource": "/{proxy+}",
        "path": request.scope["path"],
        "httpMethod": request.method,
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": dict(headers),
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": dict(query) or None,
        "pathParameters": {"proxy": request.scope["path"].lstrip("/")},
        "stageVariables": None,
        "body": text,
        "isBase64Encoded": is_base64,
        "requestContext": {
            "requestId": request_id,
            "stage": _STAGE,
            "httpMethod": request.method,
            "path": request.scope["path"],  # as behind a custom domain: no stage in the URL
            "resourcePath": "/{proxy+}",
            "protocol": "HTTP/1.1",
            "requestTimeEpoch": int(time.time() * 1000),
            "identity": {
                "sourceIp": request.client.host if request.client else "127.0.0.1",
                "userAgent": request.headers.get("user-agent"),
                "apiKeyId": request.headers.get("x-api-key") or LOCAL_CALLER,
            },
        },
    }


def to_response(answer: dict[str, Any]) -> Response:
    """The HTTP response of a function's proxy answer."""
    body = answer.get("body") or ""
    content = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    response = Response(content, status_code=answer["statusCode"])
    for name, value in (answer.get("headers") or {}).items():
        response.headers[name] = value
    for name, values in (answer.get("multiValueHeaders") or {}).items():
        response.headers[name] = values[0]
        for value in values[1:]:
            response.headers.append(name, value)
    return response


async def _body(request: Request) -> bytes | None:
    """The body, or None when it is larger than the gateway takes."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LARGEST_BODY:
            return None
    return bytes(received)


def _as_text(body: bytes) -> tuple[str | None, bool]:
    """The body as the event carries it, and whether it is base64."""
    if not body:
        return None, False
    try:
        return body.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True


def _refused(refusal: Refusal, request_id: str, *, cross_origin: bool) -> Response:
    """A problem document. The function knows nothing of the request: the gateway's id stands for that of a query."""
    problem = {
        "type": f"urn:gleaner:problem:{refusal.slug}",
        "title": refusal.slug.replace("-", " ").capitalize(),
        "status": refusal.status,
        "detail": refusal.detail,
        "query_id": request_id,
    }
    headers = dict.fromkeys(_IDS, request_id)
    if cross_origin:
        headers |= {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": ",".join(_IDS)}
    return Response(json.dumps(problem), refusal.status, headers, media_type="application/problem+json")
