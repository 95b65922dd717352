"""Unusable answers of a web search."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.doubles.cut_response import CutResponse
from tests.doubles.scripted_web import result


def page(status: int, **headers: str) -> Response:
    """An HTML page, as a proxy between services sends it."""
    return Response("<html>secret inner text</html>", status, headers, media_type="text/html")


# Complete responses, or changes to the body of a good one.
WEB_FAULTS: dict[str, Any] = {
    "400": JSONResponse({"error": {"message": "secret"}}, 400),
    "401": JSONResponse({"error": {"message": "secret"}}, 401),
    "403": JSONResponse({"error": {"message": "secret"}}, 403),
    "404": page(404),
    "429": JSONResponse({"error": {"message": "secret"}}, 429),
    "429, a long wait": JSONResponse({"error": {"message": "secret"}}, 429, {"Retry-After": "60"}),
    "500": JSONResponse({"error": {"message": "secret"}}, 500),
    "503": page(503),
    "a page under 200": page(200),
    "a connection cut off": CutResponse(b"secret" * 100),
    "failed": {"status": "failed", "error": {"message": "secret", "code": "server_error"}},
    "cancelled": {"status": "cancelled"},
    "incomplete": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "no search_results": {"output": [{"type": "message", "content": [{"type": "output_text", "text": "secret"}]}]},
    "no output": {"output": []},
    "results without URL": {"output": [{"type": "search_results", "results": [{"id": 1, "title": "secret"}]}]},
    "javascript: URLs": {
        "output": [
            {"type": "search_results", "results": [result(1, "javascript:alert('secret')", "T")]},
            {"type": "message", "content": [{"type": "output_text", "text": "See [1]."}]},
        ]
    },
}

_SOURCE = result(1, "https://starlette.example/release", "Starlette release notes")
_SAID = {"type": "output_text", "text": "Starlette 1.0 was released in 2026 [1]."}
_MESSAGE = {"type": "message", "content": [_SAID]}
_NOTED = {"type": "citation", "start_index": 35, "end_index": 38, "url": _SOURCE["url"], "title": _SOURCE["title"]}


def _output(*results: Any, content: Any = (_SAID,)) -> dict[str, Any]:
    return {"output": [{"type": "search_results", "results": list(results)}, {"type": "message", "content": content}]}


# Changes to the body of a good answer that leave something usable.
WEB_ODDITIES: dict[str, dict[str, Any]] = {
    "no usage": {"usage": None},
    "usage without one count": {"usage": {"input_tokens": 10}},
    "usage that is no number": {"usage": {"input_tokens": "many", "output_tokens": -1, "cost": {"total_cost": "x"}}},
    "a cost of 10^40": {"usage": {"input_tokens": 10**40, "cost": {"total_cost": 10**40, "currency": "USD"}}},
    "a cost below 0": {"usage": {"cost": {"total_cost": -5, "currency": "USD"}}},
    "status null": {"status": None},
    "an empty error": {"error": {"code": None, "message": None}},
    "an item null": {"output": [None, *_output(_SOURCE)["output"]]},
    "a result null": _output(None, _SOURCE),
    "a result without URL": _output({"id": 2}, _SOURCE),
    "a title that is a list": _output(_SOURCE | {"title": ["x"]}),
    "a snippet with a lone surrogate": _output(_SOURCE | {"snippet": "a\ud800b"}),
    "a date that is a number": _output(_SOURCE | {"date": 2026}),
    "an id that is a text": _output(_SOURCE | {"id": "1"}),
    "no ids": _output(_SOURCE | {"id": None}),
    "a part null": _output(_SOURCE, content=[None, _SAID]),
    "a text null": _output(_SOURCE, content=[_SAID | {"text": None}, _SAID]),
    "content as text": _output(_SOURCE, content=_SAID["text"]),
    "citations as annotations only": {"output": [_MESSAGE | {"content": [_SAID | {"annotations": [_NOTED]}]}]},
    "a model name of 10 KB": {"model": "m" * 10_000},
    "an answer of 300 KB": _output(_SOURCE, content=[_SAID | {"text": "word [1] " * 35_000}]),
}


def faulty(good: Any, fault: str) -> Any:
    """The response with this fault or oddity, in place of a good answer."""
    reply = (WEB_FAULTS | WEB_ODDITIES)[fault]
    if isinstance(reply, Response):
        return reply
    # ASCII escapes carry lone surrogates.
    return Response(json.dumps(good | reply), media_type="application/json")
