"""A service that answers evaluation cases as it is told, in the wire forms of `docs/08-http-api.md`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from gleaner_local.servers.asgi import AsgiServer

Json = dict[str, Any]
PROBLEM = "urn:gleaner:problem:"
SEARCH, WEB, LEARN, ANSWER = "knowledge_base_search", "perplexity_search", "index_keywords", "generate_response"
_GLEANER = {"x-query-id": "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"}


def passage(number: int = 1, **fields: Any) -> Json:
    """A source, or what the stream tells of a passage."""
    place = {"chapter": "Keywords › Length", "source_file_path": "docs/keywords.md", "source_url": None}
    own = {"id": f"kb-{number}", "source_type": "knowledge_base", "title": "Keywords", **place}
    return own | fields


def answer(text: str = "A keyword has 2 to 50 characters. [kb-1]", **fields: Any) -> Json:
    """An answer of the API."""
    return {
        "query_id": "01KB3Z9Q6M5T8W2X4Y7R0N1C3D",
        "session_id": "01KB3Z9Q6M5T8W2X4Y7R0N1C3E",
        "status": "success",
        "answer": text,
        "answered": "found",
        "sources": [passage()],
        "used_external_kb": False,
        "used_tools": [SEARCH, ANSWER],
        "keyword_count": 0,
        "latency_ms": 12.0,
        "cost": {"input_tokens": 100, "output_tokens": 10, "web_searches": 0, "estimated_usd": 0.0},
        "metadata": {"model": "scripted"},
    } | fields


def parts(
    body: Json, *, found: list[Json] | None = None, shown: str | None = None, arguments: Json | None = None
) -> list[Json]:
    """The stream of an answer whose knowledge base search found passages."""
    return [
        *call(
            "call-0", SEARCH, arguments or {"query": "keywords"}, passages=found if found is not None else [passage()]
        ),
        *call("call-1", ANSWER, {}),
        {"type": "text-start", "id": "text-1"},
        {"type": "text-delta", "id": "text-1", "delta": body["answer"] if shown is None else shown},
        {"type": "text-end", "id": "text-1"},
        {"type": "data-gleaner-answer", "data": body},
        {"type": "finish"},
    ]


def call(call_id: str, tool: str, arguments: Json, *, passages: list[Json] | None = None) -> list[Json]:
    """A tool call in a turn of its own, with its outcome."""
    found = [{"type": "data-gleaner-passages", "data": passages}] if passages else []
    return [
        {"type": "tool-input-available", "toolCallId": call_id, "toolName": tool, "input": arguments},
        *found,
        {"type": "tool-output-available", "toolCallId": call_id, "output": {}},
    ]


def problem(status: int, slug: str, **headers: str) -> Response:
    """A problem document."""
    body = {"type": f"{PROBLEM}{slug}", "title": slug, "status": status, "detail": f"It is {slug}."}
    return JSONResponse(body, status, headers=_GLEANER | headers, media_type="application/problem+json")


def stream(events: list[Json], *, is_whole: bool = True) -> Response:
    """Server-sent events; without the last one if it is not whole."""
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Response(text + ("data: [DONE]\n\n" if is_whole else ""), media_type="text/event-stream", headers=_GLEANER)


@dataclass
class AnsweringService:
    """Answers each request with `reply(path, body)`; None is the answer above. Records the requests."""

    reply: Callable[[str, Json], Response | Json | None] = lambda _path, _body: None
    requests: list[tuple[str, str, Json]] = field(default_factory=list)  # method, path, body
    headers: list[Json] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def handle(self, request: Request) -> Response:
        """Answer a request."""
        raw = await request.body()
        body = json.loads(raw) if raw else {}
        path = "/" + request.path_params["path"]
        with self._lock:
            self.requests.append((request.method, path, body))
            self.headers.append(dict(request.headers))
        if path == "/api/health":
            return JSONResponse({"status": "ok"}, headers=_GLEANER)
        if request.method == "DELETE":
            return Response(status_code=204, headers=_GLEANER)
        reply = await run_in_threadpool(self.reply, path, body)
        if isinstance(reply, Response):
            return reply
        told = reply or answer()
        return stream(parts(told)) if path.endswith("/stream") else JSONResponse(told, headers=_GLEANER)

    def asked(self, path: str = "/api/chat/stream") -> list[str]:
        """The questions that came to a route."""
        return [body["query"] for _, asked, body in self.requests if asked == path]


@contextmanager
def serving(service: AnsweringService, *, below: str = "") -> Iterator[str]:
    """Serve it, with `below` before each path; yields its address."""
    methods = ["GET", "POST", "DELETE"]
    app = Starlette(routes=[Mount(below, routes=[Route("/{path:path}", service.handle, methods=methods)])])
    server = AsgiServer(app)
    server.start()
    try:
        yield server.url + below
    finally:
        server.stop()
