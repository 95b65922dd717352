"""States of documents, uploads that were allowed and leases, on ministack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gleaner.errors import LeaseLost
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores import dynamodb
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.document_leases import DocumentLeases, Lease, Outcome
from gleaner.stores.documents import DocumentStore, place_of
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_item
from gleaner_local.aws import ministack
from tests.table_pool import TablePool

KB, ID, PATH = "handbook", "docs-a-1a2b", "docs/a.md"
LOADED = Outcome(
    state=DocumentState.LOADED, chunk_count=3, size_bytes=90, content_hash="h1", version="v1", modified_at=1_000.0
)


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.now = 1_000.0  # DynamoDB deletes nothing that expired so long ago

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Documents:
    """The table of one test, and both stores over it."""

    store: DocumentStore
    leases: DocumentLeases
    clock: Clock
    name: str
    client: Any

    def take(self, holder: str = "H1", *, document_id: str = ID, seconds: float = 300.0) -> Lease | None:
        return self.leases.take(
            KB, document_id, source_file_path=PATH, holder=holder, seconds=seconds, deadline=Deadline.after(20)
        )

    def taken(self, holder: str = "H1", **options: Any) -> Lease:
        lease = self.take(holder, **options)
        assert lease is not None
        return lease

    def keep(self, lease: Lease, next_chunk: int = 0, content_hash: str | None = "h2") -> Lease:
        return self.leases.keep(
            lease, next_chunk=next_chunk, content_hash=content_hash, seconds=300.0, deadline=Deadline.after(20)
        )

    def finish(self, lease: Lease, outcome: Outcome = LOADED) -> bool:
        return self.leases.finish(lease, outcome, deadline=Deadline.after(20))

    def offer(self, document_id: str = ID, *, by: str = "key:ann", seconds: float = 900.0, **fields: Any) -> bool:
        defaults = {"source_file_path": PATH, "groups": None, "upload_id": by[4:], "known": self.find(document_id)}
        return self.store.request_upload(
            KB, document_id, uploaded_by=by, seconds=seconds, deadline=Deadline.after(20), **(defaults | fields)
        )

    def find(self, document_id: str = ID) -> DocumentEntry | None:
        return self.store.find(KB, document_id, deadline=Deadline.after(20))

    def state(self, document_id: str = ID) -> DocumentState | None:
        entry = self.find(document_id)
        return entry and entry.state

    def page(self, **options: Any) -> Sequence[DocumentEntry]:
        return self.store.list(KB, deadline=Deadline.after(20), **({"limit": 100} | options))

    def items(self) -> list[dict[str, Any]]:
        return [from_item(item) for item in self.client.scan(TableName=self.name)["Items"]]


@pytest.fixture
def documents(dynamodb_url: str, table_pool: TablePool) -> Iterator[Documents]:
    tables = table_pool.borrow()
    client, name, clock = ministack.table_client(dynamodb_url), tables["DOCUMENTS_TABLE"], Clock()
    table = Table(client, name)
    yield Documents(DocumentStore(table, clock=clock), DocumentLeases(table, clock=clock), clock, name, client)
    table_pool.give_back(tables)


def test_a_document_is_loading_and_then_loaded(documents: Documents) -> None:
    lease = documents.taken()
    assert (lease.attempt, lease.next_chunk, lease.content_hash) == (1, 0, None)
    assert documents.state() is DocumentState.LOADING
    documents.clock.now += 1
    assert documents.finish(lease)
    entry = documents.find()
    assert entry is not None
    assert (entry.state, entry.chunk_count, entry.size_bytes, entry.content_hash, entry.version) == (
        (DocumentState.LOADED, 3, 90, "h1", "v1")
    )
    assert entry.loaded_at == entry.updated_at
    assert entry.queued_at < entry.updated_at


def test_of_many_holders_one_takes_the_document_and_looks_again(documents: Documents, dynamodb_url: str) -> None:
    stores = [
        DocumentLeases(Table(ministack.admin_client(dynamodb_url), documents.name), clock=documents.clock)
        for _ in range(8)
    ]

    def take(number: int) -> Lease | None:
        return stores[number % 8].take(
            KB, ID, source_file_path=PATH, holder=f"H{number}", seconds=300, deadline=Deadline.after(30)
        )

    with ThreadPoolExecutor(32) as threads:
        [lease] = [lease for lease in threads.map(take, range(32)) if lease is not None]
    assert not documents.finish(lease)
    assert documents.take("late") is None
    assert not documents.finish(lease)
    assert documents.finish(lease)
    assert documents.state() is DocumentState.LOADED


def test_a_lease_that_ended_is_taken_over_with_its_checkpoint_and_the_former_holder_has_no_more_say(
    documents: Documents,
) -> None:
    former = documents.keep(documents.taken(), next_chunk=96)
    documents.clock.now += 300
    lease = documents.taken("H2")
    assert (lease.next_chunk, lease.content_hash, lease.attempt) == (96, "h2", 1)
    for lost in (
        lambda: documents.keep(former, next_chunk=192),
        lambda: documents.finish(former),
        lambda: documents.leases.remove(former, deadline=Deadline.after(20)),
    ):
        with pytest.raises(LeaseLost):
            lost()
    documents.leases.release(former, "late", deadline=Deadline.after(20))
    assert documents.take("H3") is None
    assert documents.keep(lease, next_chunk=192).next_chunk == 192


def test_holders_that_end_without_a_word_are_counted_until_one_writes(documents: Documents) -> None:
    for attempt in (1, 2, 3):
        lease = documents.taken(f"H{attempt}")
        assert lease.attempt == attempt
        documents.clock.now += 301
    lease = documents.keep(documents.taken("H4"), next_chunk=96)
    documents.clock.now += 301
    assert documents.taken("H5").attempt == 1


def test_a_lease_is_released_for_whoever_goes_on(documents: Documents) -> None:
    lease = documents.keep(documents.taken(), next_chunk=96)
    documents.leases.release(lease, "The index takes no more for now.", deadline=Deadline.after(20))
    entry = documents.find()
    assert entry is not None
    assert (entry.state, entry.reason) == (DocumentState.LOADING, "The index takes no more for now.")
    following = documents.taken("H2")
    assert (following.next_chunk, following.content_hash, following.attempt) == (96, "h2", 1)


def test_a_checkpoint_outlasts_a_failure_and_nothing_else(documents: Documents) -> None:
    documents.finish(documents.keep(documents.taken(), next_chunk=96), Outcome(state=DocumentState.FAILED, reason="x"))
    lease = documents.taken("H2")
    assert (lease.next_chunk, lease.content_hash) == (96, "h2")
    documents.finish(lease)
    assert documents.taken("H3").content_hash is None


def test_repeated_writes_have_effect_once(documents: Documents) -> None:
    first, second = documents.taken(), documents.taken()
    assert first.holder == second.holder
    assert documents.keep(first) == documents.keep(first)
    assert documents.finish(first)
    assert documents.finish(first)
    lease = documents.taken("H2")
    assert documents.leases.remove(lease, deadline=Deadline.after(20))
    assert documents.leases.remove(lease, deadline=Deadline.after(20))
    assert documents.items() == []


def test_an_unchanged_version_keeps_the_time_of_its_loading(documents: Documents) -> None:
    times = []
    for holder, content_hash in (("H1", "h1"), ("H2", "h1"), ("H3", "h2")):
        documents.finish(documents.taken(holder), Outcome(state=DocumentState.LOADED, content_hash=content_hash))
        entry = documents.find()
        assert entry is not None
        times.append(entry.loaded_at)
        documents.clock.now += 1
    assert times[0] == times[1] != times[2]


def test_a_new_upload_reads_as_queued_until_it_comes_or_its_time_ends(documents: Documents) -> None:
    documents.offer(groups=frozenset({"staff"}))
    entry = documents.find()
    assert entry is not None
    assert (entry.state, entry.offered_to, entry.groups) == (DocumentState.QUEUED, "key:ann", {"staff"})
    assert [found.document_id for found in documents.page(state=DocumentState.QUEUED)] == [ID]
    documents.clock.now += 900
    assert documents.find() is None
    assert documents.page() == documents.page(state=DocumentState.QUEUED) == []
    [item] = documents.items()
    assert item["expires_at"] == 1_900
    documents.offer()
    assert documents.state() is DocumentState.QUEUED
    documents.taken()
    assert documents.state() is DocumentState.LOADING
    assert all("expires_at" not in item for item in documents.items())


def test_what_is_known_of_a_loaded_document_outlasts_an_upload_that_never_comes(documents: Documents) -> None:
    documents.finish(documents.taken())
    documents.clock.now += 10
    before = documents.find()
    documents.offer(groups=frozenset({"staff"}))
    assert documents.state() is DocumentState.QUEUED
    assert documents.page(state=DocumentState.LOADED) == []
    documents.clock.now += 900
    after = documents.find()
    assert before is not None
    assert after is not None
    assert (after.state, after.content_hash, after.groups) == (DocumentState.LOADED, "h1", None)
    assert [found.document_id for found in documents.page(state=DocumentState.LOADED)] == [ID]
    assert documents.page(state=DocumentState.QUEUED) == []


@pytest.mark.parametrize(
    ("modified_at", "state"),
    [(1_000.0, DocumentState.LOADED), (999.0, DocumentState.QUEUED), (None, DocumentState.LOADED)],
)
def test_an_older_object_does_not_count_as_the_upload(
    documents: Documents, modified_at: float | None, state: DocumentState
) -> None:
    documents.clock.now = 1_000.9
    documents.offer()
    documents.finish(documents.taken(), Outcome(state=DocumentState.LOADED, content_hash="h", modified_at=modified_at))
    assert documents.state() is state


def test_a_document_that_is_gone_is_forgotten_unless_an_upload_is_awaited(documents: Documents) -> None:
    documents.finish(documents.taken())
    documents.clock.now += 10
    lease = documents.taken("H2")
    documents.offer()
    assert documents.take("H3") is None
    assert not documents.leases.remove(lease, deadline=Deadline.after(20))
    for _ in range(2):
        assert documents.leases.remove(lease, deadline=Deadline.after(20))
    entry = documents.find()
    assert entry is not None
    assert (entry.state, entry.content_hash, entry.chunk_count) == (DocumentState.QUEUED, None, 0)
    documents.clock.now += 900
    assert documents.find() is None


def test_a_form_that_was_used_is_not_awaited_any_more_when_its_document_goes(documents: Documents) -> None:
    documents.offer()
    documents.finish(documents.taken(), replace(LOADED, modified_at=1_005.0))
    documents.clock.now += 10
    assert documents.leases.remove(documents.taken("H2"), deadline=Deadline.after(20))
    assert documents.items() == []


def test_an_upload_belongs_to_whoever_made_it_and_not_to_who_asked_last(documents: Documents) -> None:
    documents.offer(by="key:hanna")
    documents.finish(documents.taken(), replace(LOADED, upload_id="hanna"))
    entry = documents.find()
    assert entry is not None
    assert (entry.uploaded_by, entry.offered_to) == ("key:hanna", None)
    documents.offer(by="key:mary")
    waiting = documents.find()
    assert waiting is not None
    assert not waiting.belongs_to("key:mary")
    documents.finish(documents.taken("H2"), replace(LOADED, content_hash="h2", upload_id="mary"))
    replaced = documents.find()
    assert replaced is not None
    assert replaced.uploaded_by == "key:mary"
    documents.finish(documents.taken("H3"), replace(LOADED, content_hash="h3"))  # put by another way
    foreign = documents.find()
    assert foreign is not None
    assert (foreign.uploaded_by, foreign.offered_to) == (None, None)


def test_an_upload_is_not_allowed_on_the_strength_of_groups_that_have_changed(documents: Documents) -> None:
    documents.offer(by="key:hanna", groups=frozenset({"hr"}))
    seen = documents.find()
    assert not documents.offer(by="key:mary", known=None)
    assert documents.offer(by="key:hanna", known=seen, groups=frozenset({"hr"}))
    documents.finish(documents.taken(), replace(LOADED, groups=frozenset({"hr", "board"})))
    assert not documents.offer(by="key:mary", known=None)
    assert not documents.offer(by="key:hanna", known=seen)
    entry = documents.find()
    assert entry is not None
    assert (entry.state, entry.groups) == (DocumentState.LOADED, {"hr", "board"})
    assert documents.offer(by="key:hanna")
    documents.leases.remove(documents.taken("H2"), deadline=Deadline.after(20))
    assert documents.offer(by="key:hanna", groups=frozenset({"hr"}))
    documents.clock.now += 900
    assert documents.offer(by="key:mary", known=None)  # the upload that was allowed never came


def test_documents_are_listed_in_the_order_of_their_ids_and_in_pages(documents: Documents) -> None:
    ids = [f"d-{number:02d}" for number in range(7)]
    for number, document_id in enumerate(reversed(ids)):
        if number % 3 == 2:
            documents.offer(document_id, seconds=1.0)
        else:
            documents.finish(documents.taken(document_id, document_id=document_id))
        documents.clock.now += 1
    expected = [i for number, i in enumerate(reversed(ids)) if number % 3 != 2][::-1]
    assert [entry.document_id for entry in documents.page()] == expected
    pages: list[DocumentEntry] = []
    while page := documents.page(limit=2, after=place_of(pages[-1]) if pages else None):
        pages += page
    assert [entry.document_id for entry in pages] == expected
    newest: list[DocumentEntry] = []
    state = DocumentState.LOADED
    while page := documents.page(state=state, limit=2, after=place_of(newest[-1], state) if newest else None):
        newest += page
    assert [entry.document_id for entry in newest] == expected  # the last id was loaded first
    assert documents.page(state=DocumentState.FAILED) == []


def test_a_caller_is_forgotten_and_the_documents_stay(documents: Documents) -> None:
    documents.offer("d-1")
    documents.clock.now += 1
    documents.offer("d-2")
    documents.offer("d-3", by="key:bob")
    documents.finish(documents.taken(document_id="d-2"), replace(LOADED, upload_id="ann"))
    deadline = Deadline.after(20)
    assert documents.store.list_by_uploader("key:ann", deadline=deadline) == [(KB, "d-1"), (KB, "d-2")]
    assert documents.store.forget_uploader("key:ann", deadline=deadline) == 2
    assert documents.store.forget_uploader("key:ann", deadline=deadline) == 0
    assert {(entry.document_id, entry.uploaded_by or entry.offered_to) for entry in documents.page()} == {
        ("d-1", None),
        ("d-2", None),
        ("d-3", "key:bob"),
    }
    assert "key:ann" not in str(documents.items())


def test_a_client_of_the_function_reads_the_table(
    documents: Documents, dynamodb_url: str, settings: dict[str, str]
) -> None:
    store = DocumentStore(Table(dynamodb.connect(endpoint_url=dynamodb_url), settings["DOCUMENTS_TABLE"]))
    assert store.find(KB, ID, deadline=Deadline.after(20)) is None
