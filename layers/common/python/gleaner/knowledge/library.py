"""Reads what the knowledge bases hold: documents, and single passages with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gleaner.errors import UnknownDocument, UnknownPassage
from gleaner.model import CHUNK_SEPARATOR, KB_ID_PATTERN, Record, chunk_id, document_of
from gleaner.runtime.deadline import Deadline

if TYPE_CHECKING:  # the SDK of the index is loaded when it is used
    from gleaner.clients.pinecone import KnowledgeBase

_MAX_REQUEST_SECONDS = 5.0

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
    position: Position | None = None  # its place in a list, after which the next one begins


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Some documents in the order of their ids; `next_position` is None on the last page."""

    documents: Sequence[LoadedDocument]
    next_position: Position | None


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

    def read_passage(self, kb_id: str, record_id: str, *, deadline: Deadline) -> Neighbours:
        """A chunk with its neighbours in one request. Raises UnknownPassage."""
        document, separator, index = record_id.rpartition(CHUNK_SEPARATOR)
        has_neighbours = bool(separator) and index.isascii() and index.isdigit()
        around = [chunk_id(document, int(index) + step) for step in (-1, 1)] if has_neighbours else []
        records = self._index().fetch(kb_id, [record_id, *around], timeout=deadline.timeout(_MAX_REQUEST_SECONDS))
        if record_id not in records:
            raise UnknownPassage("This passage is not in the knowledge base any more. Ask again.")
        before, after = (records.get(one) for one in around) if around else (None, None)
        return Neighbours(chunk=records[record_id], before=before, after=after)

    def list_documents(
        self, kb_id: str, *, limit: int, after: Position | None = None, deadline: Deadline
    ) -> DocumentPage:
        """At most `limit` documents that follow the position `after`; a knowledge base that does not exist is empty."""
        ids, positions, has_more = self._group_ids(kb_id, limit, after, deadline)
        firsts = {document: min(chunks, key=_chunk_index) for document, chunks in ids.items()}
        records = self._index().fetch(kb_id, list(firsts.values()), timeout=deadline.timeout(_MAX_REQUEST_SECONDS))
        documents = [
            LoadedDocument(
                id=document, first=records[first], chunk_count=len(ids[document]), position=positions[document]
            )
            for document, first in firsts.items()
            if first in records
        ]
        return DocumentPage(documents=documents, next_position=positions[list(ids)[-1]] if has_more else None)

    def read_document(
        self, kb_id: str, document_id: str, *, start: int, limit: int, deadline: Deadline
    ) -> tuple[LoadedDocument, list[Record]]:
        """A document, and at most `limit` of its chunks from the one in the position `start` on.

        Raises UnknownDocument.
        """
        timeout = deadline.timeout(_MAX_REQUEST_SECONDS)
        prefix = document_id + CHUNK_SEPARATOR
        chunk_ids = sorted(self._index().list_ids(kb_id, prefix=prefix, timeout=timeout), key=_chunk_index)
        chunk_ids = chunk_ids or [document_id]  # other programs may store a document as one record
        wanted = chunk_ids[start : start + limit]
        timeout = deadline.timeout(_MAX_REQUEST_SECONDS)
        records = self._index().fetch(kb_id, [*chunk_ids[:1], *wanted], timeout=timeout)
        if not records:
            raise UnknownDocument("The knowledge base holds no such document.")
        first = records.get(chunk_ids[0]) or next(iter(records.values()))
        document = LoadedDocument(id=document_id, first=first, chunk_count=len(chunk_ids))
        return document, [records[one] for one in wanted if one in records]

    def _group_ids(
        self, kb_id: str, limit: int, after: Position | None, deadline: Deadline
    ) -> tuple[dict[str, list[str]], dict[str, Position], bool]:
        """The ids of at most `limit` documents' chunks, the positions of the documents, and whether more follow."""
        ids: dict[str, list[str]] = {}
        positions: dict[str, Position] = {}
        token, last = after or (None, "")
        document = ""
        for page_token, record_id in self._list_ids(kb_id, token, deadline):
            before, document = document, document_of(record_id)
            if last and order_of(document) <= order_of(last):
                continue
            if document not in ids and ids:
                positions[before] = (page_token, before)  # the next one begins on this page
                if len(ids) == limit:
                    return ids, positions, True
            ids.setdefault(document, []).append(record_id)
            positions[document] = (page_token, document)
        return ids, positions, False

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
