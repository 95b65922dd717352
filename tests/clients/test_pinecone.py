"""The Pinecone client against a slow, failing or malformed service."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinecone import PineconeError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.clients.pinecone_hits import LenientAdapter, read_hits
from gleaner.errors import KnowledgeBaseTimedOut, KnowledgeBaseUnavailable
from gleaner_local.servers.asgi import AsgiServer
from tests.clients.test_chat_completions import ANY_JSON, Path, changed, paths
from tests.doubles.scripted_index import odd_hits

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


def get_failure(kb: KnowledgeBase, timeout: float = 20.0) -> str:
    with pytest.raises(KnowledgeBaseUnavailable) as raised:
        kb.search("kb", "a private question", top_k=3, timeout=timeout)
    message = str(raised.value)
    assert KEY not in message
    assert "private" not in message
    return message


def require_stop(kb: KnowledgeBase, *, seconds: float) -> None:
    """A search is given up while the SDK is still at it, which would end with an error of its own."""
    with pytest.raises(KnowledgeBaseTimedOut, match="in time") as raised:
        kb.search("kb", "a private question", top_k=3, timeout=seconds)
    assert type(raised.value.__cause__) is TimeoutError


def scored(*scores: object) -> Response:
    """Hits with these scores, written as JSON or as they are."""
    body = {"result": {"hits": [{"_id": f"a#{n}", "_score": n, "fields": {"text": "x"}} for n in range(len(scores))]}}
    text = json.dumps(body | {"usage": {"read_units": 1}})
    for position, score in enumerate(scores):
        text = text.replace(f'"_score": {position},', f'"_score": {score},')
    return Response(text, media_type="application/json")


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ((0.9, 0.5, 0.0), [0.9, 0.5, 0.0]),
        ((7.5, 3.75, 0.5), [1.0, 0.5, 0.5 / 7.5]),  # dot product, or a sparse index
        ((1.0000001, 0.5, -1.0), [1.0, 0.5 / 1.0000001]),
        ((-0.1, -3.0), []),
        ((1e40, 1e39), [1.0, 0.1]),
        ((10**40, 0.5), [1.0, 0.5e-40]),
        (("NaN", 0.8, 0.4), [0.4, 0.8, 0.4]),
        (("Infinity", 0.8), [0.8, 0.8]),
        ((0.8, "-Infinity"), [0.8, 0.8]),
        ((0.8, "1e999"), [0.8, 0.8]),
        ((0.8, "9" * 5_000), [0.8, 0.8]),
        ((0.8, "null"), [0.8, 0.8]),
        ((0.8, '"high"'), [0.8, 0.8]),
        ((0.8, "true"), [0.8, 0.8]),
        (("NaN", "NaN"), [0.0, 0.0]),
        (("NaN", -0.5), [0.0]),
    ],
)
def test_scores_keep_their_order_between_0_and_1(serve: Serve, scores: tuple[Any, ...], found: list[float]) -> None:
    assert [hit.score for hit in serve(scored(*scores)).search("kb", "q", top_k=3, timeout=20)] == pytest.approx(found)


GOOD = {"_id": "good#1", "_score": 0.8, "fields": {"text": "kept"}}


@pytest.mark.parametrize(
    "bad",
    [
        '{"_id": "a#0", "_score": 0.9, "fields": null}',
        '{"_id": "a#0", "_score": 0.9, "fields": "none"}',
        '{"_id": "a#0", "_score": 0.9, "fields": [1]}',
        '{"_id": "a#0", "_score": 0.9}',
        '{"_id": "a#0", "_score": 0.9, "fields": {"text": "\\ud800"}}',
        '{"_id": null, "_score": 0.9, "fields": {"text": "x"}}',
        '{"_id": 7, "_score": 0.9, "fields": {"text": "x"}}',
        '{"_id": "\\udfff", "_score": 0.9, "fields": {"text": "x"}}',
        '{"_score": 0.9, "fields": {"text": "x"}}',
        "null",
        "7",
        '"a#0"',
        "[]",
        "{}",
    ],
)
def test_a_bad_hit_is_left_out_and_counted(serve: Serve, bad: str) -> None:
    body = f'{{"result": {{"hits": [{bad}, {json.dumps(GOOD)}]}}, "usage": {{"read_units": 1}}}}'
    found = serve(Response(body, media_type="application/json")).search("kb", "q", top_k=3, timeout=20)
    assert [(hit.record.id, hit.record.text, hit.score) for hit in found] == [("good#1", "kept", 0.8)]
    assert found.left_out == 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ('"text": "Uses \\ud83d here"', "Uses  here"),
        ('"text": "x", "title": "\\ud800"', "x"),
        ('"text": "x", "page_number": 1e999', "x"),
        ('"text": "x", "page_number": NaN, "chunk_index": -Infinity', "x"),
        (f'"text": "x", "chunk_index": {"9" * 5_000}', "x"),
        (f'"text": "x", "page_number": {10**40}', "x"),
        ('"text": "x", "other": [NaN]', "x"),
        ('"text": "a\nb"', "a\nb"),
    ],
)
def test_a_bad_field_costs_no_hit(serve: Serve, fields: str, text: str) -> None:
    body = f'{{"result": {{"hits": [{{"_id": "a#3", "_score": 0.5, "fields": {{{fields}}}}}]}}}}'
    (hit,) = serve(Response(body, media_type="application/json")).search("kb", "q", top_k=3, timeout=20)
    assert (hit.record.text, hit.record.title, hit.record.chunk_index) == (text, "a", 3)
    assert hit.record.page_number is None


OTHER = {"_id": "b#2", "_score": 0.5, "fields": {"text": "kept, too"}}
WHOLE = {"result": {"hits": [GOOD, OTHER]}, "usage": {"read_units": 1}}


@given(path=st.sampled_from(list(paths(WHOLE))), value=ANY_JSON, removed=st.booleans())
def test_any_part_of_a_search_result_may_be_missing_or_anything(path: Path, value: Any, removed: bool) -> None:
    try:
        response = LenientAdapter.to_search_response(changed(WHOLE, path, value, removed))
    except PineconeError:
        assert path[0] == "result" and len(path) <= 2
        return
    found = read_hits(response.result.hits)
    assert all(hit.record.id and hit.record.text and 0 <= hit.score <= 1 for hit in found)
    is_hit = len(path) > 2
    assert not is_hit or any(hit.record.id in ("good#1", "b#2") for hit in found)


@pytest.mark.parametrize("usage", ["null", "{}", '{"read_units": null}', "[]", '"none"'])
@pytest.mark.parametrize("found", ["[]", "null"])
def test_hits_and_usage_may_be_missing(serve: Serve, usage: str, found: str) -> None:
    body = f'{{"result": {{"hits": {found}}}, "usage": {usage}}}'
    assert serve(Response(body, media_type="application/json")).search("kb", "q", top_k=3, timeout=20) == []


def test_bytes_that_are_no_text_cost_no_search(serve: Serve) -> None:
    body = json.dumps({"result": {"hits": [GOOD]}}).encode().replace(b"kept", b"k\xffpt")
    (hit,) = serve(Response(body, media_type="application/json")).search("kb", "q", top_k=3, timeout=20)
    assert hit.record.text == "k\ufffdpt"


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
    first, second = (hit.record for hit in kb.search("kb", "q", top_k=9, timeout=20))
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
    [hit] = kb.search("kb", "question", top_k=3, timeout=20)
    assert hit.record.source_url == source_url


def test_a_missing_namespace_is_empty_but_a_wrong_host_raises(serve: Serve) -> None:
    missing = serve(JSONResponse({"code": 5, "message": "Namespace not found", "details": []}, status_code=404))
    assert missing.search("kb", "q", top_k=3, timeout=20) == []
    assert missing.fetch("kb", ["a#0"], timeout=20) == {}
    missing.delete("kb", ["a#0"], timeout=20)
    assert "404" in get_failure(serve(PlainTextResponse("no such page", status_code=404)))


@pytest.mark.parametrize(
    "answer",
    [
        PlainTextResponse("<html>"),
        JSONResponse({}),
        JSONResponse([]),
        JSONResponse({"result": None}),
        JSONResponse({"result": {"hits": "none"}}),
        JSONResponse({"result": {"hits": [7, None]}}),
        Response(b'{"result": "\xff"}', media_type="application/json"),
        Response(b'{"result": ' + b"[" * 100_000, media_type="application/json"),
    ],
)
def test_a_malformed_response_raises(serve: Serve, answer: Response) -> None:
    assert "ResponseParsingError" in get_failure(serve(answer))


def test_a_search_for_ids_asks_for_no_texts() -> None:
    asked: list[Any] = []

    async def search(request: Request) -> Response:
        asked.append(await request.json())
        found = [{"_id": "b", "_score": 1.6, "fields": {"chunk_index": 0}}, {"_id": "a", "_score": 0.8, "fields": {}}]
        return hits(*found, {"_id": "", "_score": 0.7, "fields": {}}, {"_id": "c", "_score": -1, "fields": {}})

    server = AsgiServer(Starlette(routes=[Route("/{path:path}", search, methods=["POST"])]))
    server.start()
    kb = connect(host=server.url, api_key=lambda: KEY)
    try:
        scores = kb.search_ids("kb", "question", top_k=3, timeout=20, filter={"owner": {"$exists": False}})
    finally:
        server.stop()
    assert scores == {"b": 1.0, "a": 0.5}
    assert list(scores) == ["b", "a"]
    assert asked[0]["fields"] == ["chunk_index"]
    assert asked[0]["query"]["filter"] == {"owner": {"$exists": False}}


IDS_ONLY = {"_id": "b", "_score": 0.9, "fields": {"chunk_index": 0}}
ODD_IDS = {name: answer for name, answer in odd_hits(IDS_ONLY).items() if "title" not in name}  # it asks for no title


@pytest.mark.parametrize("answer", ODD_IDS.values(), ids=ODD_IDS.keys())
def test_a_search_for_ids_survives_hits_that_cannot_be_read(serve: Serve, answer: Response) -> None:
    assert "b" in serve(answer).search_ids("kb", "question", top_k=3, timeout=20)


def test_a_search_for_ids_warns_of_what_it_leaves_out(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    kb = serve(hits(IDS_ONLY, {"_id": "", "_score": 0.8, "fields": {"chunk_index": 0}}))
    assert kb.search_ids("kb", "question", top_k=3, timeout=20) == {"b": 0.9}
    assert [vars(record)["left_out"] for record in caplog.records] == [1]


@pytest.mark.parametrize("hit", [None, {"_id": "a#0", "_score": 0.9, "fields": None}, {"_score": 0.9, "fields": {}}])
def test_a_search_for_ids_refuses_an_answer_without_any(serve: Serve, hit: Any) -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        serve(hits(None, hit)).search_ids("kb", "question", top_k=3, timeout=20)


def test_the_time_limit_stops_the_retries_of_the_sdk(serve: Serve) -> None:
    kb = serve(JSONResponse({}, status_code=503, headers={"retry-after": "30"}))
    require_stop(kb, seconds=0.5)


def test_a_service_that_asks_for_long_pauses_is_named_within_the_time_of_a_search(serve: Serve) -> None:
    kb = serve(JSONResponse({}, status_code=503, headers={"retry-after": "30"}))
    assert "HTTP 503" in get_failure(kb, timeout=10.0)


def test_the_time_limit_stops_a_call_that_is_never_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kb = connect(host=f"http://127.0.0.1:{silent.getsockname()[1]}", api_key=lambda: KEY)
        require_stop(kb, seconds=0.3)


def test_a_refused_connection_raises() -> None:
    get_failure(connect(host="http://127.0.0.1:9", api_key=lambda: KEY), timeout=20)


def test_text_that_cannot_be_encoded_raises_knowledge_base_unavailable(serve: Serve) -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        serve(hits()).search("kb", "lone surrogate \ud800", top_k=3, timeout=20)


FIRST_ANSWERS = """
import sys, threading
sys.setswitchinterval(1e-6)
from gleaner.clients.pinecone_hits import LenientAdapter
body = b'{"result":{"hits":[{"_id":"a#0","_score":0.5,"fields":{"text":"x"}}]},"usage":{"read_units":1}}'
start = threading.Barrier(8)
def read():
    start.wait()
    assert LenientAdapter.to_search_response(body).result.hits
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.slow
def test_the_first_answers_may_be_read_by_several_threads() -> None:
    # Without the types read beforehand, one of some tries ends with a segmentation fault.
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", FIRST_ANSWERS], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
