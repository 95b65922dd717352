"""Web searches as several functions have them: each with clients of its own, on one table and one web."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from gleaner.clients._circuit_breaker import CircuitBreaker
from gleaner.clients.perplexity import WebSearch, WebSearchResult
from gleaner.knowledge.shared_web_search import SearchRequest, SharedWebSearch, SharingLimits
from gleaner.model import utc_now
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import Table
from gleaner.stores.search_leases import SearchLeases

# Requests of the store may take long where many tests run.
QUICK = SharingLimits(store=20.0, margin=0.1, poll=(0.01, 0.02), own_search=2.0)


@dataclass
class Web:
    """A web that answers a search when `may_answer` is set; `replies` come first, one for each request."""

    replies: list[Callable[[], httpx.Response]] = field(default_factory=list)
    reply: Callable[[], httpx.Response] = lambda: httpx.Response(200, json=found())
    may_answer: threading.Event = field(default_factory=threading.Event)
    requests: list[bytes] = field(default_factory=list)
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def handle(self, request: httpx.Request) -> httpx.Response:
        reply = self.replies.pop(0) if self.replies else self.reply
        self.requests.append(request.content)
        self.asked.release()
        self.may_answer.wait(20)
        return reply()


@dataclass
class Function:
    """One process: its searches, and the questions that it answers."""

    web: SharedWebSearch
    executor: ThreadPoolExecutor
    faults: Counter[str] = field(default_factory=Counter)

    def ask(
        self, query: str = "q", *, scope: str | None = "kb", seconds: float = 20, **changes: Any
    ) -> WebSearchResult:
        """Search for a question, and finish what it writes beside."""
        deadline = Deadline.after(seconds)
        request = SearchRequest(
            query=query,
            context=None,
            scope=scope,
            asked_at=utc_now(),
            deadline=deadline,
            background=Background(self.executor, deadline),
            note_fault=lambda: self.faults.update(("lease",)),
        )
        request = replace(request, **changes)
        try:
            return self.web.search(request)
        finally:
            request.background.flush()


def function(
    client: Any,
    table_name: str,
    web: Web,
    executor: ThreadPoolExecutor,
    *,
    max_result_bytes: int = 10_000,
    limits: SharingLimits = QUICK,
) -> Function:
    """A function with an HTTP client of its own."""
    http = httpx.Client(base_url="https://web.example", transport=httpx.MockTransport(web.handle))
    circuit = CircuitBreaker("web search", failures=3, cool_down=60)
    search = WebSearch(http, lambda: "k", model="m", instructions="i", circuit=circuit, retry_wait_seconds=0.0)
    leases = SearchLeases(Table(client, table_name), max_result_bytes=max_result_bytes)
    return Function(SharedWebSearch(search, leases, limits), executor)


def found(text: str = "Yes [1].", **changes: Any) -> dict[str, Any]:
    """An answer of the web that cost 0.0061 USD."""
    page = {"id": 1, "url": "https://a.example/p", "title": "T", "snippet": "S", "date": "2026-01-01"}
    return {
        "status": "completed",
        "model": "perplexity/sonar",
        "output": [
            {"type": "search_results", "queries": ["q"], "results": [page]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        ],
        "usage": {"input_tokens": 11, "output_tokens": 7, "cost": {"currency": "USD", "total_cost": 0.0061}},
    } | changes
