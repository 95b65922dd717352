"""A fake of a Pinecone index's data plane, scripted by a test."""

from __future__ import annotations

import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gleaner.model import ANSWERS_SUFFIX


class ScriptedIndex:
    """Answers searches of documents with `replies` in order, repeating the last one; counts them.

    Searches of stored answers, which run at the same time, find nothing.
    """

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
        if request.path_params["namespace"].endswith(ANSWERS_SUFFIX):
            return JSONResponse(hits())
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


def odd_hits(good: dict[str, Any]) -> dict[str, Response]:
    """Search responses in which `good` is the only hit or field that can be used, by what is odd."""
    bad: dict[str, Any] = {
        "fields null": {"_id": "a#0", "_score": 0.9, "fields": None},
        "fields a text": {"_id": "a#0", "_score": 0.9, "fields": "none"},
        "a hit null": None,
        "a hit that is a number": 7,
        "no id": {"_score": 0.9, "fields": {"text": "x"}},
        "an id that is a number": {"_id": 7, "_score": 0.9, "fields": {"text": "x"}},
        "a text of a lone surrogate": {"_id": "a#0", "_score": 0.9, "fields": {"text": "\ud800"}},
    }
    scores: dict[str, Any] = {
        "a score that is not a number": float("nan"),
        "an infinite score": float("inf"),
        "a score of 10^40": 10**40,
        "a score above 1": 17.5,
        "a score null": None,
        "a score in words": "high",
    }
    bodies = {name: hits(value, good) for name, value in bad.items()}
    bodies |= {name: hits(good | {"_score": value}) for name, value in scores.items()}
    bodies["a title with a lone surrogate"] = hits(good | {"fields": good["fields"] | {"title": "Hand\ud800book"}})
    bodies["usage null"] = hits(good) | {"usage": None}
    # ASCII escapes carry lone surrogates.
    return {name: Response(json.dumps(body), media_type="application/json") for name, body in bodies.items()}
