"""A fake of a Pinecone index's data plane, scripted by a test."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class ScriptedIndex:
    """Answers searches with `replies` in order, repeating the last one; counts the searches."""

    def __init__(self) -> None:
        self.replies: list[Any] = [{}]
        self.searches = 0
        self.app = Starlette(
            routes=[
                Route("/records/namespaces/{namespace}/search", self._search, methods=["POST"]),
                Route("/describe_index_stats", self._stats, methods=["POST"]),
            ]
        )

    def gives(self, *replies: Any) -> None:
        """Restart with these replies: responses, or the bodies of successful responses."""
        self.replies, self.searches = list(replies), 0

    async def _search(self, request: Request) -> Response:
        await request.json()
        self.searches += 1
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Response) else JSONResponse(reply)

    async def _stats(self, _request: Request) -> Response:
        reply = self.replies[0]
        return reply if isinstance(reply, Response) else JSONResponse({"namespaces": {}, "dimension": 1})


def hits(*records: dict[str, Any]) -> dict[str, Any]:
    """The body of a search response."""
    return {"result": {"hits": list(records)}, "usage": {"read_units": 1, "embed_total_tokens": 1}}


def hit(record_id: str, score: float = 0.9, **fields: Any) -> dict[str, Any]:
    """One search hit."""
    return {"_id": record_id, "_score": score, "fields": fields}
