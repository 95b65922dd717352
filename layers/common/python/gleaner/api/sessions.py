"""Routes that create, list, show and delete sessions."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gleaner.api import _cursors
from gleaner.api._pages import take_fitting
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, Limit, SessionId
from gleaner.errors import InvalidCursor, KnowledgeBaseUnavailable, NotAllowed, UnknownSession
from gleaner.model import new_id, utc_now
from gleaner.stores.conversation_items import Session
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.session_deletion import SessionDeletion

# An attribute name in a DynamoDB item must not be empty.
MetadataName = Annotated[str, StringConstraints(min_length=1, max_length=500)]
MetadataText = Annotated[str, StringConstraints(max_length=500)]
Id = Annotated[SessionId, Path()]


class NewSession(BaseModel):
    """A session to create; `metadata` is for the caller's own use."""

    model_config = ConfigDict(extra="forbid", strict=True)

    metadata: dict[MetadataName, MetadataText] = Field(default_factory=dict, max_length=20)


class SessionItem(BaseModel):
    """A session with totals over its turns; times are ISO 8601 in UTC."""

    session_id: str
    title: str | None = Field(
        description="The first question in one line, shortened and redacted; null before there is one, and in sessions "
        "of earlier versions."
    )
    created_at: str
    updated_at: str
    metadata: dict[str, Any]
    message_count: int
    tool_call_count: int
    keyword_count: int
    input_tokens: int
    output_tokens: int


class SessionPage(BaseModel):
    """A page of the caller's sessions, the most recently used first."""

    sessions: list[SessionItem]
    next_cursor: str | None


class SessionRoutes:
    """/api/sessions and /api/sessions/{session_id}."""

    def __init__(self, conversations: ConversationStore, deletion: SessionDeletion, current: Current) -> None:
        self._conversations = conversations
        self._deletion = deletion
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        listing, one = (InvalidCursor, *STORE_FAILURES), (UnknownSession, *STORE_FAILURES)
        creating = (NotAllowed, *STORE_FAILURES)
        deleting = (KnowledgeBaseUnavailable, *one)  # what the session taught is in the vector index, too
        return [
            Route(Endpoint.CREATE_SESSION, self._create, status=HTTPStatus.CREATED, raises=creating),
            Route(Endpoint.LIST_SESSIONS, self._list, raises=listing),
            Route(Endpoint.SHOW_SESSION, self._show, raises=one),
            Route(Endpoint.DELETE_SESSION, self._delete, status=HTTPStatus.NO_CONTENT, content={}, raises=deleting),
        ]

    def _create(self, body: Annotated[NewSession | None, Body()] = None) -> Response[SessionItem]:
        request, now = self._current(), utc_now()
        request.caller.require_any_knowledge_base()  # nothing could be asked in it
        metadata = body.metadata if body else {}
        session = Session(
            session_id=new_id(), owner=request.caller.id, created_at=now, updated_at=now, metadata=metadata
        )
        self._conversations.create(session, deadline=request.deadline)
        return ok(_to_item(session), status=HTTPStatus.CREATED)

    def _list(self, limit: Limit = 20, cursor: Cursor = None) -> Response[SessionPage]:
        request = self._current()
        scope = (Endpoint.LIST_SESSIONS.path, request.caller.id)
        after = _cursors.decode(cursor, scope=scope, length=2) if cursor else None
        page = self._conversations.list_sessions(
            request.caller.id,
            limit=limit + 1,
            after=(after[0], after[1]) if after else None,
            deadline=request.deadline,
        )
        sessions = take_fitting([_to_item(session) for session in page[:limit]])
        last_position = (sessions[-1].updated_at, sessions[-1].session_id) if len(page) > len(sessions) else None
        next_cursor = _cursors.encode(last_position, scope=scope) if last_position else None
        return ok(SessionPage(sessions=sessions, next_cursor=next_cursor))

    def _show(self, session_id: Id) -> Response[SessionItem]:
        request = self._current()
        return ok(_to_item(self._conversations.get(session_id, request.caller.id, deadline=request.deadline)))

    def _delete(self, session_id: Id) -> Response[None]:
        request = self._current()
        self._deletion.delete(session_id, request.caller.id, deadline=request.deadline)
        return Response(HTTPStatus.NO_CONTENT.value)


def _to_item(session: Session) -> SessionItem:
    values = {name: getattr(session, name) for name in SessionItem.model_fields}
    times = {name: values[name].isoformat(timespec="microseconds") for name in ("created_at", "updated_at")}
    return SessionItem.model_validate(values | times)
