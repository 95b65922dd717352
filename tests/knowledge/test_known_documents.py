"""The list of documents: what the index holds, merged with what is known of those in the object store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.errors import UnknownDocument
from gleaner.groups import Groups, may_read
from gleaner.knowledge.known_documents import KnownDocument, KnownDocuments, KnownPage, Viewer
from gleaner.knowledge.library import Library, order_of
from gleaner.model import DocumentState, Record, chunk_id, document_of
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.items import to_timestamp

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LOADED, LOADING, FAILED, QUEUED = (
    DocumentState.LOADED,
    DocumentState.LOADING,
    DocumentState.FAILED,
    DocumentState.QUEUED,
)


class SmallPages:
    """An index that lists ids in the order of their bytes, a few a page.

    A token holds the last id before its page, as Pinecone's do: they are base64 of {"skip_past": ID, "prefix": null}.
    """

    def __init__(self, documents: dict[str, int], page: int, groups: dict[str, Groups]) -> None:
        self._groups = groups
        self._ids = sorted(
            (chunk_id(document, n) for document, count in documents.items() for n in range(count)), key=str.encode
        )
        self._page = page

    def list_pages(
        self, _kb_id: str, *, token: str | None = None, **_limits: Any
    ) -> Iterator[tuple[str | None, list[str]]]:
        start = self._ids.index(token) + 1 if token else 0
        while True:
            yield token, self._ids[start : start + self._page]
            start += self._page
            if start >= len(self._ids):
                return
            token = self._ids[start - 1]

    def list_ids(self, _kb_id: str, *, prefix: str, **_limits: Any) -> list[str]:
        return [one for one in self._ids if one.startswith(prefix)]

    def fetch(self, _kb_id: str, ids: Sequence[str], **_limits: Any) -> dict[str, Record]:
        known = [one for one in ids if one in self._ids]
        return {
            one: Record(
                id=one,
                text="W",
                title="T",
                source_file_path="p",
                chunk_index=0,
                content_hash="h",
                groups=self._groups.get(document_of(one), ()),
            )
            for one in known
        }


class Entries:
    """The states of documents, in the order of their ids."""

    def __init__(self, entries: Sequence[DocumentEntry]) -> None:
        self._entries = sorted(entries, key=lambda entry: entry.document_id.encode())

    def list(self, _kb_id: str, *, limit: int, after: Any = None, **_limits: Any) -> list[DocumentEntry]:
        return [one for one in self._entries if not after or one.document_id.encode() > after[0].encode()][:limit]

    def find(self, _kb_id: str, document_id: str, **_limits: Any) -> DocumentEntry | None:
        return next((one for one in self._entries if one.document_id == document_id), None)


def entry(document_id: str, state: DocumentState = LOADED, *, loaded_at: datetime | None = None) -> DocumentEntry:
    now = to_timestamp(NOW)
    return DocumentEntry(
        kb_id="kb",
        document_id=document_id,
        source_file_path=f"uploads/{document_id}.md",
        state=state,
        queued_at=now,
        updated_at=now,
        loaded_at=to_timestamp(loaded_at) if loaded_at else None,
    )


def known(
    documents: dict[str, int],
    entries: Sequence[DocumentEntry],
    page: int = 100,
    groups: dict[str, Groups] | None = None,
) -> KnownDocuments:
    index: Any = SmallPages(documents, page, groups or {})
    store: Any = Entries(entries)
    return KnownDocuments(Library(lambda: index), store, now=lambda: NOW)


def soon() -> Deadline:
    return Deadline.after(20)


def member(*groups: str, caller_id: str = "key:ann", may_edit: bool = True) -> Viewer:
    return Viewer(caller_id=caller_id, may_read=lambda named: may_read(named, groups), may_edit=lambda: may_edit)


ANYBODY = member()


def read_all(documents: KnownDocuments, limit: int, viewer: Viewer = ANYBODY) -> list[KnownDocument]:
    return [document for page in read_pages(documents, limit, viewer) for document in page.documents]


def read_pages(documents: KnownDocuments, limit: int, viewer: Viewer) -> Iterator[KnownPage]:
    place = None
    while True:
        page = documents.list_all("kb", viewer, limit=limit, after=place, deadline=soon())
        assert len(page.documents) <= limit
        yield page
        if page.next_place is None:
            return
        assert page.documents
        assert page.next_place != place
        place = page.next_place


# Ids of other programs may have any characters; those of files have small letters, digits and hyphens.
own_ids = st.text("ab-", min_size=1, max_size=3)
any_ids = st.one_of(own_ids, st.text("ab- !#é\U0001f600", min_size=1, max_size=3))


@given(
    st.dictionaries(any_ids, st.integers(1, 4), max_size=8),
    st.sets(own_ids, max_size=8),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_every_document_is_listed_once_and_in_order(
    loaded: dict[str, int], entries: set[str], page: int, limit: int
) -> None:
    loaded = {one: count for one, count in loaded.items() if "#" not in one}
    found = read_all(known(loaded, [entry(one, QUEUED) for one in entries], page), limit)
    assert [one.id for one in found] == sorted(loaded.keys() | entries, key=order_of)
    assert {one.id: one.chunk_count for one in found} == dict.fromkeys(entries, 0) | loaded
    assert {one.id for one in found if one.entry is not None} == entries
    assert all((one.state is QUEUED) == (one.id in entries) for one in found)


@pytest.mark.parametrize(
    ("loaded_before", "state"),
    [(timedelta(seconds=5), LOADING), (timedelta(minutes=2), FAILED), (timedelta(days=9), FAILED), (None, FAILED)],
)
def test_a_document_whose_passages_are_missing_is_not_shown_as_loaded(
    loaded_before: timedelta | None, state: DocumentState
) -> None:
    """The index may not list for a moment what was written into it."""
    documents = known({}, [entry("a", loaded_at=NOW - loaded_before if loaded_before is not None else None)])
    [listed] = read_all(documents, 5)
    shown, passages = documents.read("kb", "a", ANYBODY, start=0, limit=1, deadline=soon())
    assert (listed.state, shown.state, passages) == (state, state, [])
    assert ("not in the index any more" in (listed.reason or "")) == (state is FAILED)
    assert listed.title == "a.md"


def test_the_state_of_a_document_that_is_replaced_is_that_of_its_new_version() -> None:
    documents = known({"a": 3, "b": 1}, [entry("a", LOADING)])
    assert [(one.id, one.state, one.chunk_count) for one in read_all(documents, 5)] == [
        ("a", LOADING, 3),
        ("b", LOADED, 1),
    ]
    shown, passages = documents.read("kb", "a", ANYBODY, start=1, limit=1, deadline=soon())
    assert (shown.state, len(passages)) == (LOADING, 1)
    with pytest.raises(UnknownDocument):
        documents.read("kb", "c", ANYBODY, start=0, limit=1, deadline=soon())


@given(
    st.dictionaries(any_ids, st.tuples(st.integers(1, 4), st.sampled_from([(), ("hr",), ("board",)])), max_size=9),
    st.sets(own_ids, max_size=6),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_documents_of_other_groups_leave_no_trace_in_lists(
    loaded: dict[str, tuple[int, Groups]], entries: set[str], page: int, limit: int
) -> None:
    loaded = {one: facts for one, facts in loaded.items() if "#" not in one}
    groups = {one: named for one, (_, named) in loaded.items()}
    documents = known({one: count for one, (count, _) in loaded.items()}, [entry(one) for one in entries], page, groups)
    hidden = {one for one, named in groups.items() if not may_read(named, ["hr"])}
    pages = list(read_pages(documents, limit, member("hr")))
    found = [document.id for page in pages for document in page.documents]
    assert found == sorted((loaded.keys() | entries) - hidden, key=order_of)
    assert all(len(page.documents) == limit for page in pages[:-1])
    for place in (page.next_place for page in pages if page.next_place):
        assert place.last not in hidden
        assert place.token is None or document_of(place.token) not in hidden


def test_a_document_is_shown_to_those_who_may_read_it_and_to_who_uploaded_it() -> None:
    mine = replace(entry("mine", LOADED), uploaded_by="key:ann", groups=frozenset(("hr",)))
    new = replace(entry("new", QUEUED), offered_to="key:bob", groups=frozenset(("hr",)))
    unclear = entry("unclear", FAILED)
    documents = known({"mine": 2, "theirs": 1}, [mine, new, unclear], groups={"mine": ("hr",), "theirs": ("hr",)})

    def seen(viewer: Viewer) -> list[str]:
        return [one.id for one in read_all(documents, 2, viewer)]

    assert seen(member("hr")) == ["mine", "new", "theirs", "unclear"]
    assert seen(member("hr", may_edit=False)) == ["mine", "theirs"]
    assert seen(member(may_edit=False)) == ["mine"]
    assert seen(member(caller_id="key:bob")) == ["new", "unclear"]
    assert seen(member(caller_id="key:eve", may_edit=False)) == []
    shown, passages = documents.read("kb", "mine", member(), start=0, limit=5, deadline=soon())
    assert (shown.id, passages) == ("mine", [])
    for hidden in ("theirs", "new"):
        with pytest.raises(UnknownDocument):
            documents.read("kb", hidden, member(may_edit=False), start=0, limit=5, deadline=soon())
