"""Routes that list the documents of a knowledge base."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, Field

from gleaner.api import _cursors
from gleaner.api._caller import Caller
from gleaner.api.request import Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, KbId, Limit, preview
from gleaner.errors import (
    ApiKeysUnavailable,
    DeadlineExceeded,
    InvalidCursor,
    KnowledgeBaseUnavailable,
    NotAllowed,
    StoreUnavailable,
    UnknownDocument,
)
from gleaner.knowledge.library import Library, LoadedDocument
from gleaner.model import Place, Record
from gleaner.passage_ids import address_of, decode_document, encode_document, encode_passage

INDEX_FAILURES = (KnowledgeBaseUnavailable, ApiKeysUnavailable, DeadlineExceeded)
_MAX_START_DIGITS = 9

KbParameter = Annotated[KbId | None, Query(description="The knowledge base; the default one if left out.")]


class DocumentItem(BaseModel):
    """A loaded document."""

    document_id: str
    kb_id: str
    title: str
    source_file_path: str
    source_url: str | None
    chunk_count: int
    loaded_at: str | None = Field(description="ISO 8601 in UTC; null for documents of earlier versions.")
    groups: list[str] = Field(
        description="Those of your groups whose members may read it; empty if all callers of the knowledge base may. "
        "Admins see all groups, and an empty name where they cannot be read."
    )


class DocumentList(BaseModel):
    """A page of documents in the order of their ids; `next_cursor` is null on the last page."""

    documents: list[DocumentItem]
    next_cursor: str | None


class ChunkItem(BaseModel):
    """A passage of a document."""

    chunk_index: int
    chapter: str | None
    page_number: int | None
    page_label: str | None
    text_preview: str
    passage_url: str


class DocumentDetails(BaseModel):
    """A document, and a page of its passages in their order."""

    document: DocumentItem
    passages: list[ChunkItem]
    next_cursor: str | None


class DocumentRoutes:
    """GET /api/documents and GET /api/documents/{document_id}."""

    def __init__(self, library: Library, current: Current, *, default_kb_id: str) -> None:
        self._library = library
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, InvalidCursor, StoreUnavailable, *INDEX_FAILURES)
        return [
            Route(Endpoint.LIST_DOCUMENTS, self._list, raises=failures),
            Route(Endpoint.SHOW_DOCUMENT, self._show, raises=(UnknownDocument, *failures)),
        ]

    def _list(self, kb_id: KbParameter = None, limit: Limit = 20, cursor: Cursor = None) -> Response[DocumentList]:
        kb_id = self._allowed(kb_id)
        scope = (Endpoint.LIST_DOCUMENTS.path, kb_id)
        after = None
        if cursor:
            token, last = _cursors.decode(cursor, scope=scope, length=2)
            after = (token[1:] or None, last)
        request = self._current()
        page = self._library.list_documents(
            kb_id, limit=limit, after=after, may_read=request.caller.may_read, deadline=request.deadline
        )
        position = page.next_position and (f"t{page.next_position[0] or ''}", page.next_position[1])
        return ok(
            DocumentList(
                documents=[_to_item(document, kb_id, request.caller) for document in page.documents],
                next_cursor=_cursors.encode(position, scope=scope) if position else None,
            )
        )

    def _show(
        self,
        document_id: Annotated[str, Path(max_length=1000)],
        kb_id: KbParameter = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Response[DocumentDetails]:
        kb_id, key = self._allowed(kb_id), decode_document(document_id)
        scope = (Endpoint.SHOW_DOCUMENT.path, kb_id, document_id)
        start = _parse_start(_cursors.decode(cursor, scope=scope, length=1)[0]) if cursor else 0
        request = self._current()
        document, records = self._library.read_document(
            kb_id, key, start=start, limit=limit, may_read=request.caller.may_read, deadline=request.deadline
        )
        end = start + limit
        return ok(
            DocumentDetails(
                document=_to_item(document, kb_id, request.caller),
                passages=[_to_chunk(record, kb_id) for record in records],
                next_cursor=_cursors.encode((str(end),), scope=scope) if end < document.chunk_count else None,
            )
        )

    def _allowed(self, kb_id: str | None) -> str:
        chosen = kb_id or self._default_kb_id
        self._current().caller.require_knowledge_base(chosen)
        return chosen


def _parse_start(position: str) -> int:
    if not (position.isascii() and position.isdigit() and len(position) <= _MAX_START_DIGITS):
        raise InvalidCursor("This cursor does not belong to this list. Leave it out to begin at the start.")
    return int(position)


def _to_item(document: LoadedDocument, kb_id: str, caller: Caller) -> DocumentItem:
    first = document.first
    return DocumentItem(
        document_id=encode_document(document.id),
        kb_id=kb_id,
        title=first.title,
        source_file_path=first.source_file_path,
        source_url=first.source_url,
        chunk_count=document.chunk_count,
        loaded_at=first.loaded_at,
        groups=[group for group in first.groups if caller.is_admin or group in caller.find_groups()],
    )


def _to_chunk(record: Record, kb_id: str) -> ChunkItem:
    return ChunkItem(
        chunk_index=record.chunk_index,
        chapter=record.chapter,
        page_number=record.page_number,
        page_label=record.page_label,
        text_preview=preview(record.text, record.chapter),
        passage_url=address_of(encode_passage(Place(kb_id=kb_id, key=record.id), record.text)),
    )
