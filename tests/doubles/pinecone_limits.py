"""What Pinecone answers when one of its limits is reached, and an index that has such limits.

Sources of the messages: docs.pinecone.io/reference/api/database-limits, of November 2026 and of the year before,
when it had a message for each limit. The data plane puts them into the error of a gRPC gateway, as a public report
of an upsert shows: `HTTP response body: {"code":8,"message":"Request failed. You've reached your write unit limit for
the current month (2000000). To continue writing data, upgrade your plan.","details":[]}`. The service of the models
writes `{"error": {"code", "message"}, "status"}` (docs.pinecone.io, "Errors"; the public schema ErrorResponse). Both
forms are tried, since no public report shows the error of an upsert of text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

TOKENS_A_MINUTE = (
    "Request failed. You've reached the max embedding tokens per minute (250000) model 'llama-text-embed-v2' and input "
    "type 'passage' for the current project.\nTo increase this limit, upgrade your plan."
)
# The form of an older version of the documentation, with its odd quotation mark.
TOKENS_A_MINUTE_BEFORE = TOKENS_A_MINUTE.replace("v2' and", "v2'' and")
TOKENS_A_MONTH = (
    "Request failed. You've reached the embedding token limit (5000000) for model llama-text-embed-v2 for the current "
    "month. \nTo continue using this model, upgrade your plan."
)
# As a public project quotes it in August 2026.
TOKENS_A_MONTH_OF_ORGANIZATION = (
    "You've reached the embedding token limit (5000000) for model multilingual-e5-large for the current month across "
    "your organization."
)
READS_A_MONTH = (
    "Request failed. You've reached your read unit limit for the current month (1000000).\n"
    "To continue reading data, upgrade your plan."
)
WRITES_A_MONTH = (
    "Request failed. You've reached your write unit limit for the current month (2000000). To continue writing data, "
    "upgrade your plan."
)
QUERIES_A_SECOND = (
    "Request failed. You've reached the query QPS limit for namespace {namespace_name} (100 QPS). Pace your queries, "
    "consider Dedicated Read Nodes for your index, or contact Pinecone Support "
    "(https://app.pinecone.io/organizations/-/settings/support/ticket) to request a higher limit."
)
STORAGE = (
    "Request failed. You've reached the max storage allowed for project handbook. \n"
    "To update or upsert new data, delete records or upgrade your plan."
)
NO_PERMISSION = "Forbidden"


def as_grpc(message: str, *, status: int = 429, code: int = 8) -> Response:
    """An error as the data plane's gateway writes it; 8 is RESOURCE_EXHAUSTED."""
    return JSONResponse({"code": code, "message": message, "details": []}, status)


def as_inference(message: str, *, status: int = 429, code: str = "RESOURCE_EXHAUSTED") -> Response:
    """An error as the service of the embedding models writes it."""
    return JSONResponse({"error": {"code": code, "message": message}, "status": status}, status)


@dataclass(slots=True)
class LimitedIndex:
    """Before an index: embeds `tokens_per_minute` and `tokens_per_month`, of four bytes each, and refuses what is more.

    `now` is the time in seconds of a clock that the test moves.
    """

    app: ASGIApp
    now: Callable[[], float]
    tokens_per_minute: int = 10**9
    tokens_per_month: int = 10**9
    is_full: Callable[[], bool] = lambda: False
    retry_after: str | None = None
    refused: int = 0
    deletions: int = 0
    _month: int = 0
    _minute: list[tuple[float, int]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["path"].endswith("/delete"):
            self.deletions += 1
        if scope["type"] != "http" or not scope["path"].endswith("/upsert"):
            await self.app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        if (
            refusal := self._admit(sum(len(json.loads(line)["text"]) for line in body.splitlines() if line) // 4)
        ) is None:
            await self.app(scope, _replay(body), send)
            return
        self.refused += 1
        await refusal(scope, receive, send)

    def _admit(self, tokens: int) -> Response | None:
        if self.is_full():
            return as_grpc(STORAGE, status=403, code=7)
        self._minute = [(at, count) for at, count in self._minute if at > self.now() - 60]
        if self._month + tokens > self.tokens_per_month:
            return as_grpc(TOKENS_A_MONTH)
        if sum(count for _, count in self._minute) + tokens > self.tokens_per_minute:
            refusal = as_grpc(TOKENS_A_MINUTE)
            if self.retry_after is not None:
                refusal.headers["retry-after"] = self.retry_after
            return refusal
        self._month += tokens
        self._minute.append((self.now(), tokens))
        return None


def _replay(body: bytes) -> Receive:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
