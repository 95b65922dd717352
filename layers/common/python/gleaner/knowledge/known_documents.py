"""The documents of a knowledge base: what the index holds, merged with the states of those in the object store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from gleaner.errors import UnknownDocument
from gleaner.groups import Groups
from gleaner.knowledge.library import UNKNOWN_DOCUMENT, Library, LoadedDocument, MayRead, order_of
from gleaner.model import CHUNK_SEPARATOR, DocumentState, Record, utc_now
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
    def groups(self) -> Groups:
        """Whom it is for, as far as that is known: the index lags behind what is noted of it."""
        if self.entry is not None and (self.entry.groups or self.entry.content_hash):
            return tuple(sorted(self.entry.groups or ()))
        return self.loaded.first.groups if self.loaded else ()

    @property
    def title(self) -> str:
        """Its title, or the name of its file while nothing of it is loaded."""
        return self.loaded.first.title if self.loaded else PurePosixPath(self.source_file_path).name

    @property
    def chunk_count(self) -> int:
        """How many passages the index holds, as far as it was asked."""
        return self.loaded.chunk_count if self.loaded else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks at documents. What it may not see leaves no trace: not in lists, nor in their places."""

    caller_id: str
    may_read: MayRead
    may_edit: Callable[[], bool]

    def sees(self, document: KnownDocument) -> bool:
        """Whether the viewer may know of a document: one who may read it, or whose upload is what is known of it.

        Whom a document is for is not always known before it is loaded. Until then editors see it, too.
        """
        entry, loaded = document.entry, document.loaded
        if entry is not None and entry.uploaded_by == self.caller_id:
            return True
        if loaded is not None:
            return self.may_read(loaded.first.groups)
        if entry is not None and entry.offered_to == self.caller_id:
            return True
        return self.may_edit() and (entry is None or self.may_read(entry.groups or ()))

    def may_replace(self, document: KnownDocument) -> bool:
        """Whether a viewer who may edit may put another version in its place: one who sees it, whatever is newer."""
        entry = document.entry
        is_own = entry is not None and entry.belongs_to(self.caller_id)
        return self.sees(document) and (is_own or self.may_read(document.groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the list of all documents: the last document before it, and the token of a page of the index."""

    token: str | None = None
    last: str = ""


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

    def list_all(
        self, kb_id: str, viewer: Viewer, *, limit: int, after: Place | None = None, deadline: Deadline
    ) -> KnownPage:
        """At most `limit` documents that follow a place; a knowledge base that does not exist is empty."""
        documents: list[KnownDocument] = []
        place = after or Place()
        for document in self._iterate(kb_id, place, limit + 1, deadline):
            if not viewer.sees(document):
                continue
            if len(documents) == limit:
                return KnownPage(documents=documents, next_place=place)
            documents.append(document)
            token = document.loaded.token if document.loaded else None
            place = Place(token=token or place.token, last=document.id)
        return KnownPage(documents=documents, next_place=None)

    def list_in_state(
        self,
        kb_id: str,
        state: DocumentState,
        viewer: Viewer,
        *,
        limit: int,
        after: Position | None = None,
        deadline: Deadline,
    ) -> StatePage:
        """At most `limit` documents of the object store in a state, with what the index still holds of them."""
        documents: list[KnownDocument] = []
        position = shown = after
        while entries := self._store.list(kb_id, state=state, limit=limit + 1, after=position, deadline=deadline):
            firsts = self._library.read_first_chunks(kb_id, [entry.document_id for entry in entries], deadline=deadline)
            for entry in entries:
                document = _in_state(entry, firsts.get(entry.document_id))
                if not viewer.sees(document):
                    continue
                if len(documents) == limit:
                    return StatePage(documents=documents, next_position=shown)
                documents.append(document)
                shown = place_of(entry, state)
            position = place_of(entries[-1], state)
        return StatePage(documents=documents, next_position=None)

    def read(
        self, kb_id: str, document_id: str, viewer: Viewer, *, start: int, limit: int, deadline: Deadline
    ) -> tuple[KnownDocument, list[Record]]:
        """A document, and at most `limit` of its chunks from the one in the position `start` on.

        Raises UnknownDocument, also for one that the viewer may not see. Who uploaded it sees it without its chunks.
        """
        entry = self._store.find(kb_id, document_id, deadline=deadline)
        try:
            loaded, records = self._library.read_document(
                kb_id, document_id, start=start, limit=limit, may_read=lambda _groups: True, deadline=deadline
            )
        except UnknownDocument:
            if entry is None:
                raise
            document, records = self._know(None, entry), []
        else:
            document = self._know(loaded, entry)
        if not viewer.sees(document):
            raise UnknownDocument(UNKNOWN_DOCUMENT)
        return document, [record for record in records if viewer.may_read(record.groups)]

    def find(self, kb_id: str, document_id: str, *, deadline: Deadline) -> KnownDocument | None:
        """What is known of a document, whoever may see it; its chunks are not counted."""
        entry = self._store.find(kb_id, document_id, deadline=deadline)
        first = self._library.read_first_chunks(kb_id, [document_id], deadline=deadline).get(document_id)
        if entry is None and first is None:
            return None
        loaded = LoadedDocument(id=document_id, first=first, chunk_count=0) if first else None
        return self._know(loaded, entry)

    def _iterate(self, kb_id: str, place: Place, size: int, deadline: Deadline) -> Iterator[KnownDocument]:
        """All documents after a place, whoever may see them; `size` of them are read at once."""
        token, last, entries_after = place.token, place.last, _entries_after(place.last)
        while True:
            after = (token, last) if token or last else None
            page = self._library.list_documents(kb_id, limit=size, after=after, deadline=deadline)
            entry_place = (entries_after,) if entries_after else None
            entries = self._store.list(kb_id, limit=size, after=entry_place, deadline=deadline)
            loaded_goes_on, is_empty = page.next_position is not None, True
            for loaded, entry in _merge(page.documents, entries, loaded_goes_on=loaded_goes_on, limit=size):
                document, is_empty = self._know(loaded, entry), False
                token = loaded.token or token if loaded else token
                last, entries_after = document.id, _entries_after(document.id)
                yield document
            if page.next_position is None and len(entries) < size:
                return
            if is_empty and page.next_position is not None:  # what the index listed cannot be read
                token, last = page.next_position

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


def _entries_after(last: str) -> str:
    """The key after which all entries follow that come after the document `last`.

    Keys are in the order of their bytes, and so are the ids of entries. Ids of other programs may have characters that
    come before the separator of chunks: "a!" is then before "a" in the index, and after it among keys.
    """
    cut = next((index for index, char in enumerate(last) if char < CHUNK_SEPARATOR), None)
    if cut is None:
        return last
    return last[: cut - 1] + chr(ord(last[cut - 1]) - 1) + "\uffff" if cut else ""


def _in_state(entry: DocumentEntry, first: Record | None) -> KnownDocument:
    """A document as far as it is known without a list of its chunks, whose number its entry tells."""
    loaded = None if first is None else LoadedDocument(id=entry.document_id, first=first, chunk_count=entry.chunk_count)
    return KnownDocument(id=entry.document_id, loaded=loaded, entry=entry, state=entry.state, reason=entry.reason)


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
