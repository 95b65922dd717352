"""Reads what the knowledge bases hold: documents, and single passages with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from gleaner.errors import UnknownDocument, UnknownPassage
from gleaner.model import CHUNK_SEPARATOR, KB_ID_PATTERN, Record, chunk_id, document_of
from gleaner.runtime.deadline import Deadline

if TYPE_CHECKING:  # the SDK of the index is loaded when it is used
    from gleaner.clients.pinecone import KnowledgeBase

_MAX_REQUEST_SECONDS = 5.0
UNKNOWN_DOCUMENT = "The knowledge base holds no such document."

MayRead = Callable[[Collection[str]], bool]  # whether text that is for these groups may be read
Position = tuple[str | None, str]  # the token of a page of ids, and the last document that was read from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """A chunk and those before and after it, if there are any."""

    chunk: Record
    before: Record | None
    after: Record | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDocument:
    """A document of a knowledge base."""

    id: str
    first: Record  # its first chunk, which names title, file and address
    chunk_count: int
    # Of a page of ids that begins within its chunks, or right after them. Pinecone's tokens are opaque, but hold the
    # last id before their page: this one tells nothing of other documents.
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Some documents in the order of their ids; `next_position` is None on the last page."""

    documents: Sequence[LoadedDocument]
    next_position: Position | None


@dataclass(slots=True)
class _Listed:
    """The ids of a document's chunks, and the token of LoadedDocument."""

    document: str
    chunks: list[str] = field(default_factory=list)
    token: str | None = None

    @property
    def first(self) -> str:
        """The id of the first chunk."""
        return min(self.chunks, key=_chunk_index)


class Library:
    """The documents in the vector index. Methods raise KnowledgeBaseUnavailable or DeadlineExceeded."""

    def __init__(self, connect: Callable[[], KnowledgeBase]) -> None:
        """`connect` is called once, by the first method: to load the SDK of the index takes time."""
        self._connect = connect
        self._connected: KnowledgeBase | None = None

    def list_knowledge_bases(self, *, deadline: Deadline) -> list[str]:
        """The knowledge bases that hold documents, in order; other programs may keep more in the index."""
        counts = self._index().record_counts(timeout=deadline.timeout(_MAX_REQUEST_SECONDS))
        return sorted(kb_id for kb_id in counts if re.fullmatch(KB_ID_PATTERN, kb_id))

    def read_passage(self, kb_id: str, record_id: str, *, may_read: MayRead, deadline: Deadline) -> Neighbours:
        """A chunk with its neighbours in one request. Raises UnknownPassage, also for one that may not be read."""
        document, separator, index = record_id.rpartition(CHUNK_SEPARATOR)
        has_neighbours = bool(separator) and index.isascii() and index.isdigit()
        around = [chunk_id(document, int(index) + step) for step in (-1, 1)] if has_neighbours else []
        records = self._fetch(kb_id, [record_id, *around], deadline)
        records = {key: record for key, record in records.items() if may_read(record.groups)}
        if record_id not in records:
            raise UnknownPassage("This passage is not in the knowledge base any more. Ask again.")
        before, after = (records.get(one) for one in around) if around else (None, None)
        return Neighbours(chunk=records[record_id], before=before, after=after)

    def list_documents(
        self, kb_id: str, *, limit: int, after: Position | None = None, deadline: Deadline
    ) -> DocumentPage:
        """At most `limit` documents that follow the position `after`, whoever may read them.

        A knowledge base that does not exist is empty. The position of the page may name any of its documents.
        """
        token, last = after or (None, "")
        listed = list(islice(self._list(kb_id, token, last, deadline), limit + 1))
        records = self._fetch(kb_id, [one.first for one in listed[:limit]], deadline)
        documents = [
            LoadedDocument(id=one.document, first=records[one.first], chunk_count=len(one.chunks), token=one.token)
            for one in listed[:limit]
            if one.first in records
        ]
        if len(listed) <= limit:
            return DocumentPage(documents=documents, next_position=None)
        tokens = [token, *(one.token for one in listed[:limit] if one.token)]
        return DocumentPage(documents=documents, next_position=(tokens[-1], listed[limit - 1].document))

    def read_first_chunks(self, kb_id: str, document_ids: Sequence[str], *, deadline: Deadline) -> dict[str, Record]:
        """The first chunks of those documents that are loaded, by the ids of the documents."""
        firsts = {chunk_id(document, 0): document for document in document_ids}
        return {firsts[key]: record for key, record in self._fetch(kb_id, list(firsts), deadline).items()}

    def read_document(
        self, kb_id: str, document_id: str, *, start: int, limit: int, may_read: MayRead, deadline: Deadline
    ) -> tuple[LoadedDocument, list[Record]]:
        """A document, and at most `limit` of its chunks from the one in the position `start` on.

        Raises UnknownDocument, also for one that may not be read.
        """
        timeout = deadline.timeout(_MAX_REQUEST_SECONDS)
        prefix = document_id + CHUNK_SEPARATOR
        chunk_ids = sorted(self._index().list_ids(kb_id, prefix=prefix, timeout=timeout), key=_chunk_index)
        chunk_ids = chunk_ids or [document_id]  # other programs may store a document as one record
        wanted = chunk_ids[start : start + limit]
        records = self._fetch(kb_id, [*chunk_ids[:1], *wanted], deadline)
        first = records.get(chunk_ids[0]) or next(iter(records.values()), None)
        if first is None or not may_read(first.groups):
            raise UnknownDocument(UNKNOWN_DOCUMENT)
        document = LoadedDocument(id=document_id, first=first, chunk_count=len(chunk_ids))
        # While another version replaces this one, its chunks may be for others than the first.
        return document, [records[one] for one in wanted if one in records and may_read(records[one].groups)]

    def _fetch(self, kb_id: str, ids: Sequence[str], deadline: Deadline) -> dict[str, Record]:
        return self._index().fetch(kb_id, ids, timeout=deadline.timeout(_MAX_REQUEST_SECONDS))

    def _list(self, kb_id: str, token: str | None, last: str, deadline: Deadline) -> Iterator[_Listed]:
        """The documents after `last` from the page of `token` on."""
        one: _Listed | None = None
        for page_token, record_id in self._list_ids(kb_id, token, deadline):
            if one is not None and page_token != token:
                one.token = page_token
            token, document = page_token, document_of(record_id)
            if last and order_of(document) <= order_of(last):
                continue
            if one is not None and document != one.document:
                yield one
                one = None
            one = one or _Listed(document)
            one.chunks.append(record_id)
        if one is not None:
            yield one

    def _list_ids(self, kb_id: str, token: str | None, deadline: Deadline) -> Iterator[tuple[str | None, str]]:
        """All ids from the page of `token` on, each with the token of its page."""
        timeout = deadline.timeout(_MAX_REQUEST_SECONDS)
        for page_token, ids in self._index().list_pages(kb_id, token=token, timeout=timeout):
            deadline.timeout(_MAX_REQUEST_SECONDS)  # raises when no time is left for another page
            yield from ((page_token, record_id) for record_id in ids)

    def _index(self) -> KnowledgeBase:
        if self._connected is None:
            self._connected = self._connect()
        return self._connected


def order_of(document: str) -> bytes:
    """By what documents are sorted: the index sorts the ids of their records by their bytes."""
    return (document + CHUNK_SEPARATOR).encode()


def _chunk_index(record_id: str) -> int:
    index = record_id.rpartition(CHUNK_SEPARATOR)[2]
    return int(index) if index.isascii() and index.isdigit() and len(index) < 10 else 0  # noqa: PLR2004
