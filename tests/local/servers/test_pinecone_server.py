"""The local Pinecone server, through the real SDK and through plain HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from pinecone import ApiError, Index, NotFoundError, Pinecone

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.model import Record
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.pinecone_server import create_app


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsgiServer]:
    index = EmbeddedIndex.open(tmp_path_factory.mktemp("index"))
    asgi_server = AsgiServer(create_app(index))
    asgi_server.start()
    yield asgi_server
    asgi_server.stop()
    index.close()


@pytest.fixture
def kb(server: AsgiServer) -> KnowledgeBase:
    return connect(host=server.url, api_key=lambda: "any")


@pytest.fixture
def sdk(server: AsgiServer) -> Index:
    return Pinecone(api_key="any").index(host=server.url)


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A separate namespace for each test."""
    return str(request.node.name)


def record(number: int, text: str, *, document: str = "guide.md") -> Record:
    return Record(
        id=f"{document}#{number}",
        text=text,
        title="Guide",
        chapter="Keywords",
        source_file_path=document,
        source_url="https://example.org/guide",
        page_number=7,
        chunk_index=number,
        content_hash="abc",
    )


def test_search_and_fetch_return_a_record_as_it_was_written(kb: KnowledgeBase, namespace: str) -> None:
    original = record(0, "Duplicate keywords are merged.")
    kb.upsert(namespace, [original], timeout=30)
    (hit,) = kb.search(namespace, "how are keywords merged?", top_k=3, timeout=30)
    assert hit.record == original
    assert 0.5 < hit.score <= 1
    assert kb.fetch(namespace, [original.id, "guide.md#99"], timeout=30) == {original.id: original}


def test_a_heading_is_searched_and_is_no_part_of_the_text(kb: KnowledgeBase, namespace: str) -> None:
    porto = replace(record(0, "It opens at 8:30. 🎉"), heading="The Porto office › Hours\nWhere to call 🎉.")
    lyon = replace(record(1, "It opens at 9:10."), heading="The Lyon office › Hours")
    kb.upsert(namespace, [porto, lyon], timeout=30)

    for name, expected in (("Porto", porto), ("Lyon", lyon)):
        hits = kb.search(namespace, f"When does the {name} office open?", top_k=2, timeout=30)
        assert hits[0].record == expected


def test_records_of_an_earlier_version_keep_their_whole_text(kb: KnowledgeBase, sdk: Index, namespace: str) -> None:
    fields = {"_id": "a#0", "text": "# Chapter\n\nBody.", "title": "T", "chapter": "Chapter"}
    sdk.upsert_records(namespace=namespace, records=[fields, {**fields, "_id": "a#1", "text_start": 99}])

    records = kb.fetch(namespace, ["a#0", "a#1"], timeout=30)

    assert {(item.heading, item.text) for item in records.values()} == {("", "# Chapter\n\nBody.")}


def test_a_second_upsert_replaces_the_record(kb: KnowledgeBase, namespace: str) -> None:
    kb.upsert(namespace, [record(0, "old words")], timeout=30)
    kb.upsert(namespace, [record(0, "new words")], timeout=30)
    assert [hit.record.text for hit in kb.search(namespace, "words", top_k=5, timeout=30)] == ["new words"]
    assert kb.record_counts(timeout=30)[namespace] == 1


def test_many_records_are_written_listed_fetched_and_deleted_in_batches(kb: KnowledgeBase, namespace: str) -> None:
    records = [record(number, f"passage {number}") for number in range(230)]
    kb.upsert(namespace, [*records, record(0, "x", document="other.md")], timeout=60)
    ids = list(kb.list_ids(namespace, prefix="guide.md#", timeout=30))
    assert sorted(ids) == sorted(r.id for r in records)
    assert kb.fetch(namespace, ids, timeout=30) == {r.id: r for r in records}
    kb.delete(namespace, ids, timeout=30)
    assert list(kb.list_ids(namespace, timeout=30)) == ["other.md#0"]


def test_an_unknown_knowledge_base_is_empty(kb: KnowledgeBase) -> None:
    assert kb.search("nowhere", "anything", top_k=5, timeout=30) == []
    assert list(kb.list_ids("nowhere", timeout=30)) == []
    assert kb.fetch("nowhere", ["a#0"], timeout=30) == {}
    kb.delete("nowhere", ["a#0"], timeout=30)
    assert "nowhere" not in kb.record_counts(timeout=30)


@pytest.mark.parametrize("name", ["with space", "a/b", "ü", "..", "50%"])
def test_any_name_can_be_a_namespace(kb: KnowledgeBase, name: str) -> None:
    kb.upsert(name, [record(0, "some words")], timeout=30)
    assert kb.search(name, "words", top_k=1, timeout=30)[0].record.id == "guide.md#0"
    assert kb.record_counts(timeout=30)[name] == 1


def test_search_with_a_filter_and_selected_fields(sdk: Index, namespace: str) -> None:
    records = [{"_id": f"a#{n}", "text": "some words", "n": n, "tags": ["x"] if n % 2 else []} for n in range(6)]
    sdk.upsert_records(namespace=namespace, records=records)
    answer = sdk.search(
        namespace=namespace,
        top_k=10,
        inputs={"text": "words"},
        filter={"$and": [{"n": {"$gte": 2}}, {"tags": "x"}]},
        fields=["n"],
    )
    assert sorted(hit.id for hit in answer.result.hits) == ["a#3", "a#5"]
    assert all(set(hit.fields) == {"n"} for hit in answer.result.hits)


def test_delete_by_filter_and_delete_all(sdk: Index, namespace: str) -> None:
    sdk.upsert_records(namespace=namespace, records=[{"_id": f"a#{n}", "text": "words", "n": n} for n in range(4)])
    sdk.delete(namespace=namespace, filter={"n": {"$lt": 3}})
    assert [item.id for page in sdk.list(namespace=namespace) for item in page.vectors] == ["a#3"]
    sdk.delete(namespace=namespace, delete_all=True)
    assert namespace not in sdk.describe_index_stats().namespaces
    with pytest.raises(NotFoundError):
        sdk.delete(namespace=namespace, ids=["a#3"])


def test_fetch_without_weights_returns_a_valid_vector_to_the_sdk(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path, None)
    server = AsgiServer(create_app(index))
    server.start()
    try:
        lexical = connect(host=server.url, api_key=lambda: "any")
        lexical.upsert("kb", [record(0, "words alone")], timeout=30)
        assert lexical.fetch("kb", ["guide.md#0"], timeout=30)["guide.md#0"].text == "words alone"
        assert lexical.search("kb", "words", top_k=1, timeout=30)[0].score > 0.5
    finally:
        server.stop()
        index.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"no_text": "x"},
        {"text": 5},
        {"text": "x", "nested": {"a": 1}},
        {"text": "x", "nothing": None},
        {"text": "x", "numbers": [1, 2]},
        {"text": "x" * 41_000},
    ],
)
def test_an_invalid_record_fails_the_complete_request(sdk: Index, namespace: str, fields: dict[str, object]) -> None:
    with pytest.raises(ApiError) as refusal:
        sdk.upsert_records(namespace=namespace, records=[{"_id": "good#0", "text": "x"}, {"_id": "bad#0", **fields}])
    assert refusal.value.status_code == 400
    assert "x" * 100 not in refusal.value.message
    assert namespace not in sdk.describe_index_stats().namespaces


@pytest.mark.parametrize("record_id", ["", "ü#0", "x" * 513])
def test_an_invalid_id_is_rejected(sdk: Index, namespace: str, record_id: str) -> None:
    with pytest.raises(ApiError, match="400"):
        sdk.upsert_records(namespace=namespace, records=[{"_id": record_id, "text": "x"}])


def test_more_than_96_records_at_once_are_rejected(sdk: Index, namespace: str) -> None:
    with pytest.raises(ApiError, match="1 to 96"):
        sdk.upsert_records(namespace=namespace, records=[{"_id": f"a#{n}", "text": "x"} for n in range(97)])


UPSERT, SEARCH = "/records/namespaces/kb/upsert", "/records/namespaces/kb/search"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", UPSERT, "{not json}", 400),
        ("POST", UPSERT, "[1]", 400),
        ("POST", UPSERT, "", 400),
        ("POST", UPSERT, "\ud800".encode("utf-8", "surrogatepass"), 400),
        ("POST", SEARCH, "", 400),
        ("POST", SEARCH, json.dumps({"query": {"top_k": 0, "inputs": {"text": "x"}}}), 400),
        ("POST", SEARCH, json.dumps({"query": {"top_k": 5, "inputs": {"text": ""}}}), 400),
        ("POST", SEARCH, json.dumps({"query": {"top_k": 5, "vector": {"values": [1.0]}}}), 400),
        ("POST", SEARCH, json.dumps({"query": {"top_k": 5, "inputs": {"text": "x"}, "filter": {"$x": 1}}}), 400),
        ("POST", "/vectors/delete", json.dumps({"ids": ["a"], "deleteAll": True}), 400),
        ("POST", "/vectors/delete", "{}", 400),
        ("POST", "/vectors/delete", json.dumps({"filter": {}}), 400),
        ("GET", "/vectors/list?limit=101", "", 400),
        ("GET", "/vectors/list?paginationToken=%C3%BC", "", 400),
        ("GET", "/vectors/fetch", "", 400),
        ("GET", "/vectors/query", "", 404),
        ("DELETE", "/vectors/list", "", 405),
    ],
)
def test_bad_requests_get_an_error_in_the_format_of_pinecone(
    server: AsgiServer, method: str, path: str, body: str | bytes, status: int
) -> None:
    answer = httpx.request(method, server.url + path, content=body, headers={"Api-Key": "any"})
    assert answer.status_code == status
    assert set(answer.json()) == {"code", "message", "details"}
    assert answer.json()["message"]


def test_an_api_key_is_required(server: AsgiServer) -> None:
    assert httpx.post(f"{server.url}/describe_index_stats", json={}).status_code == 401


def test_a_write_to_an_index_that_is_being_closed_is_refused_as_unavailable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = EmbeddedIndex.open(tmp_path)
    server = AsgiServer(create_app(index))
    server.start()
    index.stop_embedding()
    url = f"{server.url}/records/namespaces/kb/upsert"
    response = httpx.post(url, content='{"_id": "a", "text": "Boil the noodles."}', headers={"Api-Key": "any"})
    server.stop()
    assert (response.status_code, response.json()["code"]) == (503, 14)
    assert index.counts() == {} and caplog.records == []
    index.close()
