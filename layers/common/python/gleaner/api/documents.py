"""Routes that list the documents of a knowledge base, and show one with its passages."""

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
from gleaner.knowledge.known_documents import KnownDocument, KnownDocuments, Viewer
from gleaner.knowledge.known_documents import Place as ListPlace
from gleaner.model import DocumentState, Place, Record
from gleaner.passage_ids import address_of, decode_document, encode_document, encode_passage

INDEX_FAILURES = (KnowledgeBaseUnavailable, ApiKeysUnavailable, DeadlineExceeded)
_MAX_START_DIGITS = 9
_STATE_PARTS = 2  # of a cursor in the list of one state

KbParameter = Annotated[KbId | None, Query(description="The knowledge base; the default one if left out.")]
StateParameter = Annotated[
    DocumentState | None,
    Query(
        description="Only documents in this state. Those that are not loaded come in the order of their last change. A "
        "page of loaded ones may be shorter than `limit`, and even empty, before the last one."
    ),
]
DocumentId = Annotated[str, Path(max_length=1000)]


class DocumentItem(BaseModel):
    """A document. What only the object store knows is null where it was loaded by another way."""

    document_id: str
    kb_id: str
    title: str = Field(description="The name of the file while nothing of the document is loaded.")
    source_file_path: str
    source_url: str | None
    state: DocumentState
    reason: str | None = Field(description="Why it was skipped or failed, or what its loading waits for.")
    chunk_count: int = Field(description="Passages in the index; while a new version is loaded, those of either.")
    size_bytes: int | None
    content_hash: str | None = Field(description="Changes with whatever the passages are made from.")
    groups: list[str] | None = Field(
        description="Those of your groups whose members may find it; null: all callers of the knowledge base. Admins "
        "see all groups, and an empty name where they cannot be read."
    )
    queued_at: str | None
    updated_at: str | None
    loaded_at: str | None = Field(description="ISO 8601 in UTC; null for documents of earlier versions.")
    uploaded_by: str | None = Field(description="The caller who uploaded it; shown to this caller, editors and admins.")


class DocumentList(BaseModel):
    """A page of documents in the order of their ids; `next_cursor` is null on the last page."""

    documents: list[DocumentItem]
    next_cursor: str | None
    may_edit: bool = Field(description="Whether you may upload documents to this knowledge base, and remove them.")


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

    def __init__(self, known: KnownDocuments, current: Current, *, default_kb_id: str, takes_uploads: bool) -> None:
        self._known = known
        self._current = current
        self._default_kb_id = default_kb_id
        self._takes_uploads = takes_uploads

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, InvalidCursor, StoreUnavailable, *INDEX_FAILURES)
        return [
            Route(Endpoint.LIST_DOCUMENTS, self._list, raises=failures),
            Route(Endpoint.SHOW_DOCUMENT, self._show, raises=(UnknownDocument, *failures)),
        ]

    def _list(
        self, kb_id: KbParameter = None, state: StateParameter = None, limit: Limit = 20, cursor: Cursor = None
    ) -> Response[DocumentList]:
        kb_id, caller = self._allowed(kb_id), self._current().caller
        scope = (Endpoint.LIST_DOCUMENTS.path, kb_id, state or "")
        is_merged = state in (None, DocumentState.LOADED)  # documents that were loaded by another way have no state
        read = self._list_merged if is_merged else self._list_in_state
        documents, position = read(kb_id, state, limit, _cursors.decode_any(cursor, scope=scope))
        return ok(
            DocumentList(
                documents=[_to_item(document, kb_id, caller) for document in documents],
                next_cursor=_cursors.encode(position, scope=scope) if position else None,
                may_edit=self._takes_uploads and caller.may_edit(kb_id),
            )
        )

    def _list_merged(
        self, kb_id: str, state: DocumentState | None, limit: int, after: tuple[str, ...] | None
    ) -> tuple[list[KnownDocument], tuple[str, ...] | None]:
        place = _to_place(after) if after else None
        deadline = self._current().deadline
        page = self._known.list_all(kb_id, self._viewer(kb_id), limit=limit, after=place, deadline=deadline)
        documents = [document for document in page.documents if state in (None, document.state)]
        return documents, _from_place(page.next_place) if page.next_place else None

    def _list_in_state(
        self, kb_id: str, state: DocumentState | None, limit: int, after: tuple[str, ...] | None
    ) -> tuple[list[KnownDocument], tuple[str, ...] | None]:
        if state is None:
            raise AssertionError("a list in no state is merged")
        if after is not None and len(after) != _STATE_PARTS:
            raise _cursors.foreign()
        deadline = self._current().deadline
        page = self._known.list_in_state(kb_id, state, self._viewer(kb_id), limit=limit, after=after, deadline=deadline)
        return list(page.documents), page.next_position

    def _show(
        self,
        document_id: DocumentId,
        kb_id: KbParameter = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Response[DocumentDetails]:
        kb_id, key = self._allowed(kb_id), decode_document(document_id)
        scope = (Endpoint.SHOW_DOCUMENT.path, kb_id, document_id)
        start = _parse_start(_cursors.decode(cursor, scope=scope, length=1)[0]) if cursor else 0
        request = self._current()
        viewer = self._viewer(kb_id)
        document, records = self._known.read(kb_id, key, viewer, start=start, limit=limit, deadline=request.deadline)
        end = start + limit
        return ok(
            DocumentDetails(
                document=_to_item(document, kb_id, request.caller),
                passages=[_to_chunk(record, kb_id) for record in records],
                next_cursor=_cursors.encode((str(end),), scope=scope) if end < document.chunk_count else None,
            )
        )

    def _viewer(self, kb_id: str) -> Viewer:
        return viewer_of(self._current().caller, kb_id)

    def _allowed(self, kb_id: str | None) -> str:
        chosen = kb_id or self._default_kb_id
        self._current().caller.require_knowledge_base(chosen)
        return chosen


def viewer_of(caller: Caller, kb_id: str) -> Viewer:
    """The caller as one who looks at the documents of a knowledge base."""
    return Viewer(caller_id=caller.id, may_read=caller.may_read, may_edit=lambda: caller.may_edit(kb_id))


def _parse_start(position: str) -> int:
    if not (position.isascii() and position.isdigit() and len(position) <= _MAX_START_DIGITS):
        raise _cursors.foreign()
    return int(position)


def _from_place(place: ListPlace) -> tuple[str, ...]:
    """A place as the parts of a cursor, none of which may be empty."""
    return (f"t{place.token or ''}", f"d{place.last}")


def _to_place(parts: tuple[str, ...]) -> ListPlace:
    if [part[:1] for part in parts] != ["t", "d"]:
        raise _cursors.foreign()
    token, last = (part[1:] for part in parts)
    return ListPlace(token=token or None, last=last)


def _to_item(document: KnownDocument, kb_id: str, caller: Caller) -> DocumentItem:
    entry, loaded = document.entry, document.loaded
    uploader = entry.uploaded_by or entry.offered_to if entry else None
    is_told = uploader == caller.id or caller.may_edit(kb_id)
    groups = loaded.first.groups if loaded else entry.groups if entry else None
    named = [group for group in groups or () if caller.is_admin or group in caller.find_groups()]
    return DocumentItem(
        document_id=encode_document(document.id),
        kb_id=kb_id,
        title=document.title,
        source_file_path=document.source_file_path,
        source_url=loaded.first.source_url if loaded else None,
        state=document.state,
        reason=document.reason,
        chunk_count=document.chunk_count,
        size_bytes=entry.size_bytes if entry and entry.version else None,
        content_hash=entry.content_hash if entry else loaded.first.content_hash if loaded else None,
        groups=sorted(named) if groups else None,
        queued_at=entry.queued_at if entry else None,
        updated_at=entry.updated_at if entry else None,
        loaded_at=entry.loaded_at if entry else loaded.first.loaded_at if loaded else None,
        uploaded_by=uploader if is_told else None,
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
