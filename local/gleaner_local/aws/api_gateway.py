"""API Gateway's REST proxy on this machine: turns HTTP requests into proxy events and results into responses."""

from __future__ import annotations

import base64
import json
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Container
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Router, request_response

from gleaner.api.protocols.openai_errors import SHOULD_RETRY, to_error
from gleaner.model import CALLER_PATTERN
from gleaner.runtime.response_stream import is_streamed
from gleaner_local.aws import _web_pages
from gleaner_local.aws._proxy_event import to_event
from gleaner_local.aws._streamed_response import StreamedResponse
from gleaner_local.aws.execution_environment import Deliver, HandlerFailed, HandlerTooSlow, NoEnvironment

MAX_BODY_BYTES = 10 * 1024 * 1024  # API Gateway's limit
MAX_KEY_LENGTH = 200  # of AWS's ids of API keys; longer tokens are of other services, and too long for a table's key
ADMIN_CALLER = "admin"  # the API key that makes a caller of the local service an admin
_ID_HEADERS = ("X-Query-Id", "X-Request-Id")

logger = logging.getLogger(__name__)

Invoke = Callable[[dict[str, Any], str], dict[str, Any]]
InvokeStreamed = Callable[[dict[str, Any], str, Deliver], Awaitable[None]]
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class GatewayResponse:
    """A response of the gateway itself, worded like that of the deployed gateway."""

    status: int
    slug: str
    detail: str


TOO_LARGE = GatewayResponse(413, "payload-too-large", "The body is larger than 10 MB. Send less.")
FORMS_ALONE = GatewayResponse(405, "method-not-allowed", "This address takes POST.")
TOO_SLOW = GatewayResponse(504, "deadline-exceeded", "The answer took too long. Ask again.")
FUNCTION_FAILED = GatewayResponse(502, "function-failed", "The function failed. Its log says why.")
BUSY = GatewayResponse(503, "service-unavailable", "This machine cannot handle the request now. Try again later.")
UNUSABLE_KEY = GatewayResponse(
    400,
    "validation-failed",
    f"No API key looks like this x-api-key: it has at most {MAX_KEY_LENGTH} characters, no white space and no "
    "comma at the end.",
)
_FAILURES = {NoEnvironment: BUSY, HandlerTooSlow: TOO_SLOW}
_HEALTH_PATH = "/api/health"
FORM_PATH = "/local/s3"  # a route that no gateway on AWS has: browsers reach S3 at an address of its own


def _nothing() -> tuple[str, ...]:
    return ()


def create_app(
    invoke: Invoke,
    invoke_streamed: InvokeStreamed | None = None,
    *,
    origins: Collection[str] = (),
    find_down: Callable[[], Collection[str]] = _nothing,
    take_form: Endpoint | None = None,
    named_keys: Container[str] = (),
) -> Router:
    """Create an application that passes every request from this machine to `invoke(event, request_id)`.

    Requests whose responses are streamed go to `invoke_streamed(event, request_id, deliver)`, if it is given.
    `origins`: the origins whose pages may call. If there are any, pages may read the gateway's own errors as well.
    `find_down` names the local parts that are down, which the function does not know; a health check reports them.
    `take_form` answers the forms that are sent to FORM_PATH with files for the bucket: whoever sends one needs no key,
    as on AWS, because the form itself is signed. `named_keys` are the API keys that mean somebody.
    """
    proxy = _proxy_endpoint(invoke, invoke_streamed, origins=origins, find_down=find_down, named_keys=named_keys)

    form = None if take_form is None else _form_endpoint(take_form, origins)

    async def dispatch(request: Request) -> Response:
        if form and request.scope["path"].startswith(f"{FORM_PATH}/"):
            return await form(request)
        return await proxy(request)

    # A default instead of routes: no route pattern matches a line break in a path.
    return Router(default=request_response(dispatch))


def _proxy_endpoint(
    invoke: Invoke,
    invoke_streamed: InvokeStreamed | None,
    *,
    origins: Collection[str],
    find_down: Callable[[], Collection[str]],
    named_keys: Container[str],
) -> Endpoint:
    cross_origin = bool(origins)

    async def proxy(request: Request) -> Response:
        request_id = str(uuid.uuid4())
        if (refusal := _find_refusal(request, origins)) is not None:
            return _error_response(refusal, request_id, cross_origin=False)
        try:
            body = await _read_body(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        if body is None:
            return _error_response(TOO_LARGE, request_id, cross_origin=cross_origin)
        event = await run_in_threadpool(to_event, request, body, request_id, named_keys)  # it may look a key up

        def to_error(failure: HandlerFailed) -> Response:
            return _failure_response(failure, request_id, cross_origin=cross_origin)

        if invoke_streamed is not None and is_streamed(event):
            run = partial(invoke_streamed, event, request_id)
            return StreamedResponse(run, to_response=to_response, to_error=to_error)
        try:
            result = await run_in_threadpool(invoke, event, request_id)
        except HandlerFailed as failure:
            logger.exception("The function failed")
            return to_error(failure)
        return _whole_response(request, result, find_down)

    return proxy


def _whole_response(request: Request, result: dict[str, Any], find_down: Callable[[], Collection[str]]) -> Response:
    if request.scope["path"] == _HEALTH_PATH and (down := find_down()):
        result |= {"statusCode": 503, "body": json.dumps({"status": "down", "down": sorted(down)})}
    response = to_response(result)
    if request.method == "HEAD":
        del response.headers["content-length"]  # that of the response to GET is not known
    return response


def _form_endpoint(take_form: Endpoint, origins: Collection[str]) -> Endpoint:
    async def take(request: Request) -> Response:
        refusal = _find_refusal(request, origins)
        if refusal is None and request.method != "POST":
            refusal = FORMS_ALONE
        if refusal is not None:
            return _error_response(refusal, str(uuid.uuid4()), cross_origin=False)
        response = await take_form(request)
        if origins:
            response.headers["Access-Control-Allow-Origin"] = "*"
        return response

    return take


def _find_refusal(request: Request, origins: Collection[str]) -> GatewayResponse | None:
    """Why a request does not reach the function, if it does not."""
    if (objection := _web_pages.find_objection(request.headers, origins)) is not None:
        return GatewayResponse(403, "not-allowed", objection)
    return None if is_usable_key(request.headers.get("x-api-key", "")) else UNUSABLE_KEY


def is_usable_key(key: str) -> bool:
    """Whether a key can be the id of a caller that the list of callers may hold; an empty one is that of nobody."""
    return not key or (len(key) <= MAX_KEY_LENGTH and re.fullmatch(CALLER_PATTERN, f"key:{key}") is not None)


def _failure_response(failure: HandlerFailed, request_id: str, *, cross_origin: bool) -> Response:
    return _error_response(_FAILURES.get(type(failure), FUNCTION_FAILED), request_id, cross_origin=cross_origin)


def to_response(result: dict[str, Any]) -> Response:
    """Convert a function's proxy result to an HTTP response."""
    body = result.get("body") or ""
    content = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    response = Response(content, status_code=result["statusCode"])
    for name, value in (result.get("headers") or {}).items():
        response.headers[name] = value
    for name, values in (result.get("multiValueHeaders") or {}).items():
        response.headers[name] = values[0]
        for value in values[1:]:
            response.headers.append(name, value)
    return response


async def _read_body(request: Request) -> bytes | None:
    """The body, or None if it is larger than the gateway accepts."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > MAX_BODY_BYTES:
            return None
    return bytes(received)


def _error_response(error: GatewayResponse, request_id: str, *, cross_origin: bool) -> Response:
    """A problem document. The function never saw the request, so the gateway's id takes the place of a query id."""
    problem: dict[str, Any] = {
        "type": f"urn:gleaner:problem:{error.slug}",
        "title": error.slug.replace("-", " ").capitalize(),
        "status": error.status,
        "detail": error.detail,
        "query_id": request_id,
    }
    problem["error"] = to_error(problem, error.slug, error.status).model_dump()
    headers = dict.fromkeys(_ID_HEADERS, request_id)
    if error is FORMS_ALONE:
        headers["Allow"] = "POST"
    if error in (TOO_SLOW, FUNCTION_FAILED):
        headers[SHOULD_RETRY] = "false"  # the question may have been paid for
    if error.status == BUSY.status:
        headers["Retry-After"] = "1"
    if cross_origin:
        headers |= {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": ",".join(_ID_HEADERS)}
    return Response(json.dumps(problem), error.status, headers, media_type="application/problem+json")
