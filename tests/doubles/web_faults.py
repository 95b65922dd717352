"""Unusable answers of a web search."""

from __future__ import annotations

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


def faulty(good: Any, fault: str) -> Any:
    """The response with this fault, in place of a good answer."""
    reply = WEB_FAULTS[fault]
    return reply if isinstance(reply, Response) else good | reply
