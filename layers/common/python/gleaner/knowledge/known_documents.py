"""The documents of a knowledge base: what the index holds, merged with the states of those in the object store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from gleaner.errors import UnknownDocument
from gleaner.knowledge.library import Library, LoadedDocument, order_of
from gleaner.knowledge.library import Position as IndexPosition
from gleaner.model import DocumentState, Record, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.documents import DocumentStore, place_of
from gleaner.stores.dynamodb import Position
from gleaner.stores.items import from_timestamp

# For how long the index may not list what was written into it: it is eventually consistent.
_SETTLING = timedelta(minutes=1)
_GONE = "Its passages are not in the index any more. Upload it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDocument:
    """A document that is loaded, or was put into the object store, or both."""

    id: str
    loaded: LoadedDocument | None  # as the index holds it
    entry: DocumentEntry | None  # None: it was loaded by another way
    state: DocumentState
    reason: str | None  # why it was skipped or failed, or what its loading waits for

    @property
    def source_file_path(self) -> str:
        """The name of its file."""
        if self.entry is not None:
            return self.entry.source_file_path
        if self.loaded is None:
            raise AssertionError("a known document is loaded or has an entry")
        return self.loaded.first.source_file_path

    @property
    def title(self) -> str:
        """Its title, or the name of its file while nothing of it is loaded."""
        return self.loaded.first.title if self.loaded else PurePosixPath(self.source_file_path).name

    @property
    def chunk_count(self) -> int:
        """How many passages the index holds, as far as it was asked."""
        return self.loaded.chunk_count if self.loaded else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the list of all documents: how far the index and the states of documents have been read."""

    index: IndexPosition | None = None
    entries: str = ""  # the id of the last entry


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPage:
    """Some documents in the order of their ids; `next_place` is None on the last page."""

    documents: Sequence[KnownDocument]
    next_place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePage:
    """Some documents in one state, those that changed last first; `next_position` is None on the last page."""

    documents: Sequence[KnownDocument]
    next_position: Position | None


class KnownDocuments:
    """Lists and finds documents. Methods raise StoreUnavailable, KnowledgeBaseUnavailable or DeadlineExceeded."""

    def __init__(self, library: Library, store: DocumentStore, *, now: Callable[[], datetime] = utc_now) -> None:
        self._library = library
        self._store = store
        self._now = now

    def list_all(self, kb_id: str, *, limit: int, after: Place | None = None, deadline: Deadline) -> KnownPage:
        """At most `limit` documents that follow a place; a knowledge base that does not exist is empty."""
        after = after or Place()
        page = self._library.list_documents(kb_id, limit=limit, after=after.index, deadline=deadline)
        last = (after.entries,) if after.entries else None
        entries = self._store.list(kb_id, limit=limit, after=last, deadline=deadline)
        has_more = page.next_position is not None or len(entries) == limit
        documents: list[KnownDocument] = []
        place = after
        merged = _merge(page.documents, entries, loaded_goes_on=page.next_position is not None, limit=limit)
        for loaded, entry in merged:
            if len(documents) == limit:
                has_more = True
                break
            documents.append(self._know(loaded, entry))
            place = Place(
                index=loaded.position if loaded else place.index,
                entries=entry.document_id if entry else place.entries,
            )
        if not documents and page.next_position is not None:  # what the index listed cannot be read
            place = Place(index=page.next_position, entries=place.entries)
        return KnownPage(documents=documents, next_place=place if has_more else None)

    def list_in_state(
        self, kb_id: str, state: DocumentState, *, limit: int, after: Position | None = None, deadline: Deadline
    ) -> StatePage:
        """At most `limit` documents of the object store in a state, as far as it is known without the index."""
        entries = self._store.list(kb_id, state=state, limit=limit, after=after, deadline=deadline)
        documents = [
            KnownDocument(id=entry.document_id, loaded=None, entry=entry, state=entry.state, reason=entry.reason)
            for entry in entries
        ]
        position = place_of(entries[-1], state) if len(entries) == limit else None
        return StatePage(documents=documents, next_position=position)

    def read(
        self, kb_id: str, document_id: str, *, start: int, limit: int, deadline: Deadline
    ) -> tuple[KnownDocument, list[Record]]:
        """A document, and at most `limit` of its chunks from the one in the position `start` on.

        Raises UnknownDocument.
        """
        entry = self._store.find(kb_id, document_id, deadline=deadline)
        try:
            loaded, records = self._library.read_document(
                kb_id, document_id, start=start, limit=limit, deadline=deadline
            )
        except UnknownDocument:
            if entry is None:
                raise
            return self._know(None, entry), []
        return self._know(loaded, entry), records

    def _know(self, loaded: LoadedDocument | None, entry: DocumentEntry | None) -> KnownDocument:
        state, reason = DocumentState.LOADED, None
        if entry is not None:
            state, reason = entry.state, entry.reason
            if state is DocumentState.LOADED and loaded is None:
                state, reason = self._tell_missing(entry)
        document_id = loaded.id if loaded else entry.document_id if entry else ""
        return KnownDocument(id=document_id, loaded=loaded, entry=entry, state=state, reason=reason)

    def _tell_missing(self, entry: DocumentEntry) -> tuple[DocumentState, str | None]:
        """The state of a document that was loaded and whose chunks the index does not list: not yet, or not any more.

        Whoever uploads a document waits for a state that lasts, so that a new one is not said to be gone.
        """
        if entry.loaded_at and self._now() - from_timestamp(entry.loaded_at) < _SETTLING:
            return DocumentState.LOADING, None
        return DocumentState.FAILED, _GONE


def _merge(
    documents: Sequence[LoadedDocument], entries: Sequence[DocumentEntry], *, loaded_goes_on: bool, limit: int
) -> Iterator[tuple[LoadedDocument | None, DocumentEntry | None]]:
    """Pairs of what the index and the object store hold of one document, in the order of the ids.

    It ends where one of the two was not read any further: what follows there may come first.
    """
    entries_go_on = len(entries) == limit
    left, right = list(reversed(documents)), list(reversed(entries))
    while (left or not loaded_goes_on) and (right or not entries_go_on) and (left or right):
        first = min(order_of(one) for one in (*(d.id for d in left[-1:]), *(e.document_id for e in right[-1:])))
        yield (
            left.pop() if left and order_of(left[-1].id) == first else None,
            right.pop() if right and order_of(right[-1].document_id) == first else None,
        )
