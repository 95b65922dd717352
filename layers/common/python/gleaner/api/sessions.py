"""Routes of sessions: to begin, list, show and delete them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gleaner.api import _cursors
from gleaner.api._pages import fitting
from gleaner.api.request import STORE_FAILURES, Current, Route, ok
from gleaner.api.schemas import Cursor, Limit, SessionId
from gleaner.errors import InvalidCursor, UnknownSession
from gleaner.model import new_id, utc_now
from gleaner.stores.conversation_items import Session
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.session_deletion import SessionDeletion

PATH = "/api/sessions"

# A name within an item of DynamoDB is not empty.
MetadataName = Annotated[str, StringConstraints(min_length=1, max_length=500)]
MetadataText = Annotated[str, StringConstraints(max_length=500)]
Id = Annotated[SessionId, Path()]


class NewSession(BaseModel):
    """A session to begin; `metadata` is the caller's own."""

    model_config = ConfigDict(extra="forbid", strict=True)

    metadata: dict[MetadataName, MetadataText] = Field(default_factory=dict, max_length=20)


class SessionItem(BaseModel):
    """A session with the sums over its turns; moments are ISO 8601, UTC."""

    session_id: str
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
        one = f"{PATH}/<session_id>"
        made, paged, of_one = STORE_FAILURES, (InvalidCursor, *STORE_FAILURES), (UnknownSession, *STORE_FAILURES)
        gone = HTTPStatus.NO_CONTENT
        return [
            Route("POST", PATH, self._create, summary="Begin a session", status=HTTPStatus.CREATED, raises=made),
            Route("GET", PATH, self._list, summary="List your sessions", raises=paged),
            Route("GET", one, self._show, summary="Show a session", raises=of_one),
            Route("DELETE", one, self._delete, summary="Delete a session", status=gone, content={}, raises=of_one),
        ]

    def _create(self, body: Annotated[NewSession | None, Body()] = None) -> Response[SessionItem]:
        request, now = self._current(), utc_now()
        metadata = body.metadata if body else {}
        session = Session(
            session_id=new_id(), owner=request.caller.id, created_at=now, updated_at=now, metadata=metadata
        )
        self._conversations.create(session, deadline=request.deadline)
        return ok(_to_item(session), status=HTTPStatus.CREATED)

    def _list(self, limit: Limit = 20, cursor: Cursor = None) -> Response[SessionPage]:
        request = self._current()
        scope = (PATH, request.caller.id)
        after = _cursors.decode(cursor, scope=scope, length=2) if cursor else None
        page = self._conversations.list_sessions(
            request.caller.id,
            limit=limit + 1,
            after=(after[0], after[1]) if after else None,
            deadline=request.deadline,
        )
        shown = fitting([_to_item(session) for session in page[:limit]])
        ended_with = (shown[-1].updated_at, shown[-1].session_id) if len(page) > len(shown) else None
        next_cursor = _cursors.encode(ended_with, scope=scope) if ended_with else None
        return ok(SessionPage(sessions=shown, next_cursor=next_cursor))

    def _show(self, session_id: Id) -> Response[SessionItem]:
        request = self._current()
        return ok(_to_item(self._conversations.get(session_id, request.caller.id, deadline=request.deadline)))

    def _delete(self, session_id: Id) -> Response[None]:
        request = self._current()
        self._deletion.delete(session_id, request.caller.id, deadline=request.deadline)
        return Response(HTTPStatus.NO_CONTENT.value)


def _to_item(session: Session) -> SessionItem:
    values = {name: getattr(session, name) for name in SessionItem.model_fields}
    moments = {name: values[name].isoformat(timespec="microseconds") for name in ("created_at", "updated_at")}
    return SessionItem.model_validate(values | moments)
