"""A fake of Perplexity's Agent API, scripted by a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class ScriptedWeb:
    """Gives the same reply to every search; records the requests."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] | Response = {}
        self.requests: list[dict[str, Any]] = []
        self.before_reply: Callable[[], None] | None = None  # may hold back the reply
        self.app = Starlette(routes=[Route("/v1/agent", self._search, methods=["POST"])])

    def finds(self, text: str, *results: Any, status: str = "completed") -> None:
        """Restart with this answer."""
        self.requests = []
        self.reply = {
            "id": "resp_1",
            "status": status,
            "model": "perplexity/sonar",
            "output": [
                {"type": "search_results", "queries": ["q"], "results": list(results)},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            ],
            "usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30},
        }

    def fails(self, status: int) -> None:
        """Restart with this HTTP error."""
        self.requests = []
        self.reply = JSONResponse({"error": {"message": "no", "type": "t", "code": "c"}}, status_code=status)

    async def _search(self, request: Request) -> Response:
        self.requests.append(await request.json())
        if self.before_reply is not None:
            await run_in_threadpool(self.before_reply)
        return self.reply if isinstance(self.reply, Response) else JSONResponse(self.reply)


def result(number: int, url: str, title: str, snippet: str = "A snippet.") -> dict[str, Any]:
    """One search result."""
    return {
        "id": number,
        "url": url,
        "title": title,
        "snippet": snippet,
        "date": "2026-01-01",
        "last_updated": None,
        "source": "web",
    }
