"""Routes of conversations: sessions, their messages, and turns in them."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gleaner.answering import Answer
from gleaner.api import cursors
from gleaner.api.chat import ANSWER_FAILURES
from gleaner.api.once import Once
from gleaner.api.request import STORE_FAILURES, Current, Route, ok
from gleaner.api.schemas import ChatQuery, IdempotencyKey, SessionId, Source, TurnQuery, to_sources
from gleaner.errors import InvalidCursor, UnknownSession
from gleaner.model import JsonObject, Mode, new_id, utc_now
from gleaner.stores.conversation_items import Message, Session, message_metadata
from gleaner.stores.conversations import ConversationStore

PATH = "/api/sessions"

MetadataText = Annotated[str, StringConstraints(max_length=500)]
Id = Annotated[SessionId, Path()]
Limit = Annotated[int, Query(ge=1, le=100)]
Cursor = Annotated[str | None, Query(max_length=1000)]
Answerer = Callable[[ChatQuery], Answer]


class NewSession(BaseModel):
    """A session to begin; `metadata` is the caller's own."""

    model_config = ConfigDict(extra="forbid", strict=True)

    metadata: dict[MetadataText, MetadataText] = Field(default_factory=dict, max_length=20)


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


class MessageItem(BaseModel):
    """One message of a session."""

    id: str
    session_id: str
    role: str
    content: str
    created_at: str
    mode: str
    metadata: dict[str, Any]


class MessagePage(BaseModel):
    """A page of a session's messages, oldest first."""

    session_id: str
    messages: list[MessageItem]
    next_cursor: str | None


class TurnAnswer(BaseModel):
    """The answer of a turn, as the message it is kept as, and its sources."""

    message: MessageItem
    sources: list[Source]


class SessionRoutes:
    """/api/sessions and what stands below it."""

    def __init__(self, conversations: ConversationStore, answer: Answerer, once: Once, current: Current) -> None:
        """`answer` answers a question of the current request."""
        self._conversations = conversations
        self._answer = answer
        self._once = once
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        one = f"{PATH}/<session_id>"
        made, paged, of_one = STORE_FAILURES, (InvalidCursor, *STORE_FAILURES), (UnknownSession, *STORE_FAILURES)
        history = (InvalidCursor, *of_one)
        gone = HTTPStatus.NO_CONTENT
        return [
            Route("POST", PATH, self._create, summary="Begin a session", status=HTTPStatus.CREATED, raises=made),
            Route("GET", PATH, self._list, summary="List your sessions", raises=paged),
            Route("GET", one, self._show, summary="Show a session", raises=of_one),
            Route("DELETE", one, self._delete, summary="Delete a session", status=gone, content={}, raises=of_one),
            Route("POST", f"{one}/chat", self._chat, summary="Ask a question in a session", raises=ANSWER_FAILURES),
            Route("GET", f"{one}/messages", self._messages, summary="List a session's messages", raises=history),
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
        after = cursors.decode(cursor, scope=scope, length=2) if cursor else None
        page = self._conversations.sessions(
            request.caller.id,
            limit=limit + 1,
            after=(after[0], after[1]) if after else None,
            deadline=request.deadline,
        )
        shown = [_to_item(session) for session in page[:limit]]
        ended_with = (shown[-1].updated_at, shown[-1].session_id) if len(page) > limit else None
        next_cursor = cursors.encode(ended_with, scope=scope) if ended_with else None
        return ok(SessionPage(sessions=shown, next_cursor=next_cursor))

    def _show(self, session_id: Id) -> Response[SessionItem]:
        request = self._current()
        return ok(_to_item(self._conversations.get(session_id, request.caller.id, deadline=request.deadline)))

    def _delete(self, session_id: Id) -> Response[None]:
        request = self._current()
        self._conversations.delete(session_id, request.caller.id, deadline=request.deadline)
        return Response(HTTPStatus.NO_CONTENT.value)

    def _chat(
        self, session_id: Id, body: Annotated[TurnQuery, Body()], idempotency_key: IdempotencyKey = None
    ) -> Response[TurnAnswer]:
        def produce() -> TurnAnswer:
            return _to_turn_answer(self._answer(ChatQuery(**body.model_dump(), session_id=session_id)), body.mode)

        def recheck(_kept: JsonObject) -> None:  # a deleted session gives nothing out
            request = self._current()
            self._conversations.get(session_id, request.caller.id, deadline=request.deadline)

        route = f"{PATH}/{session_id}/chat"
        return ok(self._once.run(idempotency_key, self._current(), route, body, produce, recheck))

    def _messages(self, session_id: Id, limit: Limit = 50, cursor: Cursor = None) -> Response[MessagePage]:
        request = self._current()
        scope = (PATH, session_id, "messages")
        after = cursors.decode(cursor, scope=scope, length=1)[0] if cursor else ""
        self._conversations.get(session_id, request.caller.id, deadline=request.deadline)
        page = self._conversations.messages(session_id, limit=limit + 1, after=after, deadline=request.deadline)
        shown = page[:limit]
        next_cursor = cursors.encode((shown[-1][0],), scope=scope) if len(page) > limit else None
        messages = [_to_message(session_id, message) for _, message in shown]
        return ok(MessagePage(session_id=session_id, messages=messages, next_cursor=next_cursor))


def _to_item(session: Session) -> SessionItem:
    values = {name: getattr(session, name) for name in SessionItem.model_fields}
    moments = {name: values[name].isoformat(timespec="microseconds") for name in ("created_at", "updated_at")}
    return SessionItem.model_validate(values | moments)


def _to_turn_answer(answer: Answer, mode: Mode) -> TurnAnswer:
    message = MessageItem(
        id=answer.message_id,
        session_id=answer.session_id,
        role="assistant",
        content=answer.text,
        created_at=answer.created_at.isoformat(timespec="microseconds"),
        mode=mode.value,
        metadata=message_metadata(answer.facts),
    )
    return TurnAnswer(message=message, sources=to_sources(answer))


def _to_message(session_id: str, message: Message) -> MessageItem:
    return MessageItem(
        id=message.message_id,
        session_id=session_id,
        role=message.role,
        content=message.content,
        created_at=message.created_at.isoformat(timespec="microseconds"),
        mode=message.mode,
        metadata=dict(message.metadata),
    )
