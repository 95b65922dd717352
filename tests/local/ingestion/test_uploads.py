"""Documents that the page sends are loaded as by the command, within the same limits."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from gleaner.clients import pinecone
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import KnowledgeBaseUnavailable
from gleaner.model import Record
from gleaner_local.aws import api_gateway
from gleaner_local.aws.execution_environment import HandlerTooSlow
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.ingestion import uploads
from gleaner_local.ingestion.uploads import Uploads
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer

LAMPS = b"# Lamps\n\nThe lamp is trimmed every morning.\n"
BYTES = "application/octet-stream"
HEADERS = ("origin", "host", "x-api-key")


@pytest.fixture
def knowledge_base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    embedded = EmbeddedIndex(tmp_path / "index", None)
    server = AsgiServer(pinecone_server.create_app(embedded))
    server.start()
    yield pinecone.connect(host=server.url, api_key=lambda: "k")
    server.stop()
    embedded.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


@pytest.fixture
def client(data_dir: Path, knowledge_base: KnowledgeBase) -> Iterator[httpx.Client]:
    """Calls a gateway whose function allows each caller the knowledge bases `default_kb` and `other`."""
    receiver = Uploads(data_dir)
    receiver.open(knowledge_base, "default_kb")
    server = AsgiServer(api_gateway.create_app(list_documents, take_upload=receiver.answer))
    server.start()
    with httpx.Client(base_url=server.url, timeout=60) as http:
        yield http
    server.stop()


def list_documents(event: dict[str, Any], _request_id: str) -> dict[str, Any]:
    """What the function answers to `GET /api/documents`."""
    assert (event["httpMethod"], event["path"], event["body"]) == ("GET", "/api/documents", None)
    assert not {"content-type", "content-length"} & set(event["headers"])
    caller, kb_id = event["requestContext"]["identity"]["apiKeyId"], event["queryStringParameters"].get("kb_id")
    if caller == "slow":
        raise HandlerTooSlow
    allowed = kb_id in (None, "other", "No base") or (kb_id, caller) == ("secret", "insider")
    problem = {"type": "urn:gleaner:problem:not-allowed"}
    return {"statusCode": 200} if allowed else {"statusCode": 403, "body": json.dumps(problem)}


def send(client: httpx.Client, name: str, content: bytes = LAMPS, *, kind: str = BYTES, **more: str) -> httpx.Response:
    headers = {"content-type": kind} | {key: more.pop(key) for key in HEADERS if key in more}
    return client.post(api_gateway.UPLOAD_PATH, params={"name": name, **more}, content=content, headers=headers)


def remove(client: httpx.Client, name: str, *, headers: dict[str, str] | None = None, **more: str) -> httpx.Response:
    return client.delete(api_gateway.UPLOAD_PATH, params={"name": name, **more}, headers=headers)


def test_a_file_is_loaded_once_and_replaced_when_it_changed(
    client: httpx.Client, knowledge_base: KnowledgeBase, data_dir: Path
) -> None:
    outcomes = [send(client, "lamps.md", content).json() for content in (LAMPS, LAMPS, LAMPS + b"\nAnd cleaned.\n")]
    assert [one["outcome"] for one in outcomes] == ["loaded", "unchanged", "replaced"]
    assert outcomes[0] == {
        "outcome": "loaded",
        "reason": None,
        "source_file_path": "uploads/lamps.md",
        "chunk_count": 1,
    }
    [hit] = knowledge_base.search("default_kb", "lamp", top_k=3, timeout=5)
    assert "And cleaned." in hit.record.text
    assert list(data_dir.iterdir()) == []  # the files themselves are not kept


def test_a_file_goes_to_the_knowledge_base_that_is_named(client: httpx.Client, knowledge_base: KnowledgeBase) -> None:
    assert send(client, "lamps.md", kb_id="other").json()["outcome"] == "loaded"
    assert knowledge_base.search("other", "lamp", top_k=3, timeout=5)
    assert not knowledge_base.search("default_kb", "lamp", top_k=3, timeout=5)


@pytest.mark.parametrize(
    ("name", "content", "outcome", "reason"),
    [
        ("photo.png", b"\x89PNG", "skipped", "has no known file type"),
        ("book.pdf", b"no PDF", "skipped", ""),
        ("section.md", b"---\ntitle: Section\n---\n", "empty", ""),
    ],
)
def test_what_is_not_loaded_is_named_with_the_reason(
    client: httpx.Client, name: str, content: bytes, outcome: str, reason: str
) -> None:
    answer = send(client, name, content).json()
    assert (answer["outcome"], answer["chunk_count"]) == (outcome, 0)
    assert answer["reason"] and reason in answer["reason"]


def test_what_is_too_large_is_skipped(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gleaner_documents.source_files.MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 1000)
    answer = send(client, "large.txt", b"x" * 100_000).json()
    assert answer["outcome"] == "skipped" and "larger than" in answer["reason"]


def test_a_document_is_removed_whole_and_alone(client: httpx.Client, knowledge_base: KnowledgeBase) -> None:
    long = b"".join(b"## Part %d\n\n" % part + b"The wick burns low. " * 60 + b"\n\n" for part in range(12))
    for name, kb in (("wicks.md", {}), ("wicks.md", {"kb_id": "other"}), ("wicks.md.md", {})):
        assert send(client, name, long, **kb).json()["chunk_count"] > 10
    before = set(knowledge_base.list_ids("default_kb", timeout=5))
    assert remove(client, "wicks.md").status_code == 204
    left = set(knowledge_base.list_ids("default_kb", timeout=5))
    assert {one.source_file_path for one in knowledge_base.fetch("default_kb", list(left), timeout=5).values()} == {
        "uploads/wicks.md.md"
    }
    assert len(left) == len(before) / 2 == len(set(knowledge_base.list_ids("other", timeout=5)))
    again = remove(client, "wicks.md")
    assert (again.status_code, again.json()["type"]) == (404, "urn:gleaner:problem:unknown-document")
    assert send(client, "wicks.md", long).json()["outcome"] == "loaded"


def test_a_document_that_waits_for_the_index_holds_up_no_other_one(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, "wicks.md")
    upsert, waits, goes_on = KnowledgeBase.upsert, threading.Event(), threading.Event()

    def hold(self: KnowledgeBase, kb_id: str, records: Sequence[Record], **more: Any) -> None:
        if records[0].source_file_path == "uploads/lamps.md":
            waits.set()
            goes_on.wait(30)
        upsert(self, kb_id, records, **more)

    monkeypatch.setattr(KnowledgeBase, "upsert", hold)
    with ThreadPoolExecutor() as pool:
        held = pool.submit(send, client, "lamps.md")
        try:
            assert waits.wait(30)
            monkeypatch.setattr(uploads, "_MAX_WAIT_SECONDS", 0.05)
            assert send(client, "oil.md").json()["outcome"] == "loaded"
            assert remove(client, "wicks.md").status_code == 204
            assert "still being loaded" in remove(client, "lamps.md").json()["detail"]
        finally:
            goes_on.set()
        assert held.result().json()["outcome"] == "loaded"
    assert remove(client, "lamps.md").status_code == 204


def test_a_removal_that_broke_off_is_completed_by_the_next_one(
    client: httpx.Client, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = b"".join(b"## Part %d\n\n" % part + b"The wick burns low. " * 60 + b"\n\n" for part in range(12))
    send(client, "wicks.md", long)
    delete, calls = KnowledgeBase.delete, []

    def break_off(*args: Any, **more: Any) -> None:
        calls.append(args)
        if len(calls) > 1:
            raise KnowledgeBaseUnavailable("gone")
        delete(*args, **more)

    monkeypatch.setattr(KnowledgeBase, "delete", break_off)
    assert remove(client, "wicks.md").status_code == 503
    monkeypatch.undo()
    assert send(client, "wicks.md", long).json()["outcome"] == "loaded"  # it does not count as complete
    assert remove(client, "wicks.md").status_code == 204
    assert not set(knowledge_base.list_ids("default_kb", timeout=5))


def test_a_document_is_removed_only_by_whoever_may_use_its_knowledge_base(
    client: httpx.Client, knowledge_base: KnowledgeBase
) -> None:
    insider = {"x-api-key": "insider"}
    send(client, "lamps.md", kb_id="secret", **insider)
    assert remove(client, "lamps.md", kb_id="secret").status_code == 403
    assert remove(client, "lamps.md", kb_id="secret", headers=insider | {"host": "evil.example"}).status_code == 403
    evil = insider | {"origin": "https://evil.example"}
    assert remove(client, "lamps.md", kb_id="secret", headers=evil).status_code == 403
    assert set(knowledge_base.list_ids("secret", timeout=5))
    assert remove(client, "lamps.md", kb_id="secret", headers=insider).status_code == 204


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "Name the file"),
        ("../lamps.md", "without a directory"),
        ("a/b.md", "without a directory"),
        (".hidden.md", "begins with a dot"),
        ("a\0.md", "character that cannot be shown"),
        ("a\n.md", "line break"),
        ("n" * 300 + ".md", "longer than 255 bytes"),
        ("\u00fc" * 127 + ".md", "longer than 255 bytes"),
    ],
)
def test_a_name_that_is_no_file_name_is_refused_with_the_reason(client: httpx.Client, name: str, reason: str) -> None:
    for response in (send(client, name), remove(client, name)):
        assert (response.status_code, response.json()["type"]) == (400, "urn:gleaner:problem:validation-failed")
        assert reason in response.json()["detail"]


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EIO, 503)])
def test_a_failure_of_the_disk_is_told_and_logged_in_a_line(
    client: httpx.Client,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
    status: int,
) -> None:
    async def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(uploads, "_receive", fail)
    response = send(client, "lamps.md")
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert response.json()["detail"]
    [record] = [one for one in caplog.records if one.name == uploads.__name__]
    assert os.strerror(number) in record.getMessage() and record.exc_info is None
    assert list(data_dir.iterdir()) == []


def test_other_requests_are_refused(client: httpx.Client) -> None:
    assert send(client, "lamps.md", kb_id="No base").status_code == 400
    assert send(client, "lamps.md", kind="text/plain").status_code == 415
    assert send(client, "lamps.md", origin="https://evil.example").status_code == 403
    assert send(client, "lamps.md", host="evil.example").status_code == 403
    assert remove(client, "lamps.md", kb_id="No base").json()["detail"] == "kb_id is not the name of a knowledge base."


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "OPTIONS"])
def test_another_method_is_told_what_there_is(client: httpx.Client, method: str) -> None:
    response = client.request(method, api_gateway.UPLOAD_PATH)
    assert (response.status_code, response.headers["allow"]) == (405, "POST, DELETE")
    assert response.json()["type"] == "urn:gleaner:problem:method-not-allowed"


def test_a_file_goes_only_where_the_api_lets_the_caller_read(
    client: httpx.Client, knowledge_base: KnowledgeBase
) -> None:
    refused = send(client, "lamps.md", kb_id="secret")
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:gleaner:problem:not-allowed")
    assert not knowledge_base.search("secret", "lamp", top_k=3, timeout=5)
    assert send(client, "lamps.md", kb_id="secret", **{"x-api-key": "insider"}).json()["outcome"] == "loaded"
    assert knowledge_base.search("secret", "lamp", top_k=3, timeout=5)


def test_nothing_is_loaded_while_nobody_can_say_who_may(client: httpx.Client, knowledge_base: KnowledgeBase) -> None:
    assert send(client, "lamps.md", kb_id="other", **{"x-api-key": "slow"}).status_code == 504
    assert not knowledge_base.search("other", "lamp", top_k=3, timeout=5)


def test_files_are_refused_until_the_index_is_open(data_dir: Path) -> None:
    receiver = Uploads(data_dir)
    server = AsgiServer(api_gateway.create_app(list_documents, take_upload=receiver.answer))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        assert send(client, "lamps.md", kb_id="other").status_code == 503
        assert remove(client, "lamps.md", kb_id="other").status_code == 503
    server.stop()


def test_a_gateway_that_takes_no_files_passes_the_path_on() -> None:
    server = AsgiServer(api_gateway.create_app(lambda _event, _id: {"statusCode": 418}))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        assert send(client, "lamps.md").status_code == 418
    server.stop()
