"""Changes of the bucket are noted until they are done, given up or taken over from a service that died."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gleaner.document_files import document_id
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.document_leases import DocumentLeases, Lease, Outcome
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import ministack
from gleaner_local.service._dead_leases import release_dead
from gleaner_local.service.documents import LocalDocuments
from tests.table_pool import TablePool

KB, NAME = "handbook", "guide/moor.md"


@pytest.fixture
def table(dynamodb_url: str, table_pool: TablePool) -> Iterator[Table]:
    names = table_pool.borrow()
    yield Table(ministack.table_client(dynamodb_url), names["DOCUMENTS_TABLE"])
    table_pool.give_back(names)


@pytest.fixture
def documents(tmp_path: Path, table: Table) -> Iterator[LocalDocuments]:
    """A bucket with one document that nobody loads."""
    running = LocalDocuments(tmp_path / "documents", tmp_path, {"AWS_ACCESS_KEY_ID": "k"})
    running.connect().put(f"{KB}/{NAME}", b"# Moor")
    running._store, running._table = DocumentStore(table), table
    yield running
    running.stop()


def take(table: Table, holder: str) -> Lease | None:
    return DocumentLeases(table).take(
        KB, document_id(NAME), source_file_path=NAME, holder=holder, seconds=300, deadline=Deadline.after(20)
    )


def messages(documents: LocalDocuments, *, again: bool = True) -> list[dict[str, Any]]:
    return [{"Body": body} for body in documents._take_changes(again)]


def test_what_a_dead_holder_had_goes_on_where_it_was(table: Table) -> None:
    leases, lease = DocumentLeases(table), take(table, "dead")
    assert lease is not None and take(table, "other") is None
    leases.keep(lease, next_chunk=96, content_hash="h", seconds=300, deadline=Deadline.after(20))
    release_dead(table, ["elsewhere", KB])
    taken = take(table, "alive")
    assert taken is not None and (taken.next_chunk, taken.content_hash) == (96, "h")


def test_a_change_is_settled_when_its_document_is_done(documents: LocalDocuments, table: Table) -> None:
    told: list[tuple[str, str, DocumentEntry | None]] = []
    documents.listen(lambda *change: told.append(change))
    [message] = messages(documents)
    assert json.loads(message["Body"])["detail"]["object"]["key"] == f"{KB}/{NAME}"
    assert messages(documents, again=False) == []
    lease = take(table, "h")
    assert lease is not None
    documents._settle([message])  # its loading goes on with another message
    assert len(messages(documents)) == 1 and told == []
    outcome = Outcome(state=DocumentState.LOADED, chunk_count=1, modified_at=1.0)
    DocumentLeases(table).finish(lease, outcome, deadline=Deadline.after(20))
    documents._settle([{"Body": json.dumps({"bucket": "b", "key": f"{KB}/{NAME}"})}])
    assert messages(documents) == []
    [(kb_id, name, entry)] = told
    assert (kb_id, name) == (KB, NAME) and entry is not None and entry.state is DocumentState.LOADED


def test_a_document_that_goes_before_it_is_loaded_is_told_of_once(documents: LocalDocuments) -> None:
    told: list[tuple[str, str, DocumentEntry | None]] = []
    documents.listen(lambda *change: told.append(change))
    created = messages(documents)
    documents.connect().delete(f"{KB}/{NAME}")
    documents._settle(created)  # the deletion came later than its look: another message tells of it
    assert told == []
    deleted = messages(documents, again=False)
    documents._settle(created)
    documents._settle(deleted)
    assert told == [(KB, NAME, None)]


def test_a_sidecar_and_an_object_that_is_no_document_are_not_told_of_as_removed(
    documents: LocalDocuments, table: Table
) -> None:
    lease = take(table, "h")
    assert lease is not None
    outcome = Outcome(state=DocumentState.LOADED, chunk_count=1, modified_at=1.0)
    DocumentLeases(table).finish(lease, outcome, deadline=Deadline.after(20))
    told: list[tuple[str, str, DocumentState | None]] = []
    documents.listen(lambda kb_id, name, entry: told.append((kb_id, name, entry and entry.state)))
    documents._settle(messages(documents))
    documents.connect().put(f"{KB}/{NAME}.gleaner.json", b"{}")
    documents.connect().put(f"{KB}/guide/a\u202eb.md", b"# Moor")
    assert documents.waiting() == [(KB, NAME)]
    for message in messages(documents):
        documents._settle([message])
    assert told == [(KB, NAME, DocumentState.LOADED)] * 2


def test_a_dead_letter_is_kept_and_not_sent_again(
    documents: LocalDocuments, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [message] = messages(documents)
    documents._give_up([message])
    assert messages(documents) == []
    assert (tmp_path / "documents-dead-letters.jsonl").read_text() == message["Body"] + "\n"
    assert NAME in caplog.text
