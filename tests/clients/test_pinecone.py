"""The Pinecone client against a slow, failing or malformed service."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.errors import KnowledgeBaseUnavailable
from gleaner_local.servers.asgi import AsgiServer

KEY = "pcsk_secret_key"
Serve = Callable[[Response], KnowledgeBase]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Connects a knowledge base to a service that sends the same response to every request."""
    servers: list[AsgiServer] = []

    def start(answer: Response) -> KnowledgeBase:
        async def endpoint(_request: Request) -> Response:
            return answer

        server = AsgiServer(Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST"])]))
        server.start()
        servers.append(server)
        return connect(host=server.url, api_key=lambda: KEY)

    yield start
    for server in servers:
        server.stop()


def hits(*items: dict[str, Any]) -> Response:
    return JSONResponse({"result": {"hits": list(items)}, "usage": {"read_units": 1}})


def get_failure(kb: KnowledgeBase, timeout: float = 5.0) -> str:
    with pytest.raises(KnowledgeBaseUnavailable) as raised:
        kb.search("kb", "a private question", top_k=3, timeout=timeout)
    message = str(raised.value)
    assert KEY not in message
    assert "private" not in message
    return message


def test_scores_are_clamped(serve: Serve) -> None:
    kb = serve(hits(*({"_id": f"a#{n}", "_score": n, "fields": {"text": "x"}} for n in (7.5, 0.5, -1.0))))
    assert [hit.score for hit in kb.search("kb", "q", top_k=3, timeout=5)] == [1.0, 0.5, 0.0]


def test_hits_without_text_are_skipped_and_invalid_fields_get_defaults(serve: Serve) -> None:
    kb = serve(
        hits(
            {"_id": "a#0", "_score": 0.9},
            {"_id": "a#1", "_score": 0.8, "fields": {"text": None, "title": "t"}},
            {"_id": "a#2", "_score": 0.7, "fields": {"text": 17}},
            {"_id": "a#3", "_score": 0.6, "fields": {"text": "kept", "page_number": 3.0, "chapter": ["no"]}},
            {"_id": "odd", "_score": 0.5, "fields": {"text": "kept", "page_number": "x", "chunk_index": True}},
        )
    )
    first, second = (hit.record for hit in kb.search("kb", "q", top_k=9, timeout=5))
    assert (first.id, first.title, first.chunk_index, first.page_number, first.chapter) == ("a#3", "a", 3, 3, None)
    assert (second.id, second.title, second.chunk_index, second.page_number) == ("odd", "odd", 0, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_an_error_message_contains_the_status(serve: Serve, status: int) -> None:
    kb = serve(JSONResponse({"code": 1, "message": f"the key {KEY} is bad"}, status_code=status))
    assert str(status) in get_failure(kb)


@pytest.mark.parametrize(
    ("stored", "source_url"),
    [
        (" https://example.org/a?b=c#d ", "https://example.org/a?b=c#d"),
        ("http://[2001:db8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("file:///etc/passwd", None),
        ("//example.org/a", None),
        ("https://", None),
        ("https://example.org:port/", None),
        ("https://[example.org/", None),
        ("https://example.org/a b", None),
        ("https://example.org/\x1b]8;;x", None),
        ("https://example.org/\u202egro.live", None),
        ({"url": "https://example.org"}, None),
    ],
)
def test_only_web_addresses_are_read_as_the_source(serve: Serve, stored: Any, source_url: str | None) -> None:
    kb = serve(hits({"_id": "a#0", "_score": 0.5, "fields": {"text": "Text.", "source_url": stored}}))
    [hit] = kb.search("kb", "question", top_k=3, timeout=5)
    assert hit.record.source_url == source_url


def test_a_missing_namespace_is_empty_but_a_wrong_host_raises(serve: Serve) -> None:
    missing = serve(JSONResponse({"code": 5, "message": "Namespace not found", "details": []}, status_code=404))
    assert missing.search("kb", "q", top_k=3, timeout=5) == []
    assert missing.fetch("kb", ["a#0"], timeout=5) == {}
    missing.delete("kb", ["a#0"], timeout=5)
    assert "404" in get_failure(serve(PlainTextResponse("no such page", status_code=404)))


@pytest.mark.parametrize("answer", [PlainTextResponse("<html>"), JSONResponse({}), JSONResponse([])])
def test_a_malformed_response_raises(serve: Serve, answer: Response) -> None:
    assert "ResponseParsingError" in get_failure(serve(answer))


@pytest.mark.parametrize("status", [429, 503])
def test_the_time_limit_stops_the_retries_of_the_sdk(serve: Serve, status: int) -> None:
    kb = serve(JSONResponse({}, status_code=status, headers={"retry-after": "30"}))
    started = time.monotonic()
    assert "in time" in get_failure(kb, timeout=0.5)
    assert time.monotonic() - started < 2


def test_the_time_limit_stops_a_call_that_is_never_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kb = connect(host=f"http://127.0.0.1:{silent.getsockname()[1]}", api_key=lambda: KEY)
        started = time.monotonic()
        assert "in time" in get_failure(kb, timeout=0.3)
        assert time.monotonic() - started < 2


def test_a_refused_connection_raises() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    get_failure(connect(host=f"http://127.0.0.1:{port}", api_key=lambda: KEY), timeout=1.0)


def test_text_that_cannot_be_encoded_raises_knowledge_base_unavailable(serve: Serve) -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        serve(hits()).search("kb", "lone surrogate \ud800", top_k=3, timeout=5)
