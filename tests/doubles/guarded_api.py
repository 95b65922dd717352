"""A stage of API Gateway that admits callers before the function sees a request, as the deployed API does."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Router, request_response

from gleaner_local.aws._proxy_event import to_event
from gleaner_local.aws.api_gateway import to_response

STAGE = "dev"
_OPEN = ("/page/", "/.well-known/")
_SCRIPT_SECONDS = 0.02  # so that requests which come together are in flight together

Event = dict[str, Any]
Admit = Callable[[dict[str, str]], Event | None]  # from headers to what identifies the caller in the request's context


class GuardedApi:
    """Serves `handle` under /dev. Health, page and metadata are open; everything else needs what `admit` accepts."""

    def __init__(
        self, handle: Callable[[Event], Event], admit: Admit, *, refusal: HTTPStatus, challenge: str = ""
    ) -> None:
        """`challenge`: the WWW-Authenticate header of refusals."""
        self.headers_of_refusals = {"WWW-Authenticate": challenge} if challenge else {}
        self._handle = handle
        self._admit = admit
        self._refusal = refusal
        self._lock = threading.Lock()  # a function's environment serves one request at a time
        self._scripts_in_flight = 0
        self.most_scripts_at_once = 0
        self.requests: Counter[str] = Counter()  # by URL, with the query
        self.callers: list[Event] = []  # of the guarded requests
        self.app = Router(default=request_response(self._serve))

    async def _serve(self, request: Request) -> Response:
        self.requests[str(request.url.replace(scheme="", netloc=""))] += 1
        if not request.url.path.endswith(".js"):
            return await self._answer(request)
        self._scripts_in_flight += 1
        self.most_scripts_at_once = max(self.most_scripts_at_once, self._scripts_in_flight)
        try:
            await asyncio.sleep(_SCRIPT_SECONDS)
            return await self._answer(request)
        finally:
            self._scripts_in_flight -= 1

    async def _answer(self, request: Request) -> Response:
        full_path = request.url.path
        if full_path != f"/{STAGE}" and not full_path.startswith(f"/{STAGE}/"):
            return JSONResponse({"message": "Forbidden"}, HTTPStatus.FORBIDDEN)
        path = full_path.removeprefix(f"/{STAGE}") or "/"
        is_open = request.method == "GET" and (path in ("/", "/api/health") or path.startswith(_OPEN))
        caller = {} if is_open else self._admit(dict(request.headers))
        if caller is None:
            slug = "unauthorized" if self._refusal is HTTPStatus.UNAUTHORIZED else "not-allowed"
            problem = {"type": f"urn:gleaner:problem:{slug}", "detail": "Refused."}
            return JSONResponse(problem, self._refusal, self.headers_of_refusals)
        if not is_open:
            self.callers.append(caller)
        event = to_event(request, await request.body(), "r")
        event |= {"path": path, "resource": "/" if path == "/" else "/{proxy+}"}
        event["pathParameters"] = None if path == "/" else {"proxy": path[1:]}
        event["requestContext"] |= {"path": full_path, "stage": STAGE, "identity": {}} | caller
        return to_response(await run_in_threadpool(self._run, event))

    def _run(self, event: Event) -> Event:
        with self._lock:
            return self._handle(event)
