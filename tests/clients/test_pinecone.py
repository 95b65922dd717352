"""The Pinecone client when the service is slow, failing, or not what it should be."""

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
    """A knowledge base whose service gives one and the same answer to everything."""
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


def hits(*found: dict[str, Any]) -> Response:
    return JSONResponse({"result": {"hits": list(found)}, "usage": {"read_units": 1}})


def failure(kb: KnowledgeBase, timeout: float = 5.0) -> str:
    with pytest.raises(KnowledgeBaseUnavailable) as raised:
        kb.search("kb", "a private question", top_k=3, timeout=timeout)
    message = str(raised.value)
    assert KEY not in message
    assert "private" not in message
    return message


def test_scores_are_clamped(serve: Serve) -> None:
    kb = serve(hits(*({"_id": f"a#{n}", "_score": n, "fields": {"text": "x"}} for n in (7.5, 0.5, -1.0))))
    assert [hit.score for hit in kb.search("kb", "q", top_k=3, timeout=5)] == [1.0, 0.5, 0.0]


def test_hits_without_text_are_left_out_and_missing_fields_get_plain_values(serve: Serve) -> None:
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
def test_an_error_of_the_service_is_named_by_its_status(serve: Serve, status: int) -> None:
    kb = serve(JSONResponse({"code": 1, "message": f"the key {KEY} is bad"}, status_code=status))
    assert str(status) in failure(kb)


def test_a_missing_namespace_is_empty_but_a_wrong_host_is_an_error(serve: Serve) -> None:
    missing = serve(JSONResponse({"code": 5, "message": "Namespace not found", "details": []}, status_code=404))
    assert missing.search("kb", "q", top_k=3, timeout=5) == []
    assert missing.fetch("kb", ["a#0"], timeout=5) == {}
    missing.delete("kb", ["a#0"], timeout=5)
    assert "404" in failure(serve(PlainTextResponse("no such page", status_code=404)))


@pytest.mark.parametrize("answer", [PlainTextResponse("<html>"), JSONResponse({}), JSONResponse([])])
def test_an_answer_that_cannot_be_read_is_an_error(serve: Serve, answer: Response) -> None:
    assert "ResponseParsingError" in failure(serve(answer))


@pytest.mark.parametrize("status", [429, 503])
def test_retries_of_the_sdk_end_with_the_time_limit(serve: Serve, status: int) -> None:
    kb = serve(JSONResponse({}, status_code=status, headers={"retry-after": "30"}))
    began = time.monotonic()
    assert "in time" in failure(kb, timeout=0.5)
    assert time.monotonic() - began < 2


def test_a_service_that_never_answers_ends_with_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kb = connect(host=f"http://127.0.0.1:{silent.getsockname()[1]}", api_key=lambda: KEY)
        began = time.monotonic()
        assert "in time" in failure(kb, timeout=0.3)
        assert time.monotonic() - began < 2


def test_a_host_that_refuses_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    failure(connect(host=f"http://127.0.0.1:{port}", api_key=lambda: KEY), timeout=1.0)


def test_text_that_cannot_be_encoded_is_an_error_not_a_crash(serve: Serve) -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        serve(hits()).search("kb", "lone surrogate \ud800", top_k=3, timeout=5)
