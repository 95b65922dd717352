"""Routes below a session: asking in it, its history, and the texts that its questions were about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from pydantic import BaseModel

from gleaner.answering.exchange import Answer
from gleaner.api import _cursors
from gleaner.api._pages import take_fitting
from gleaner.api.chat import ANSWER_FAILURES
from gleaner.api.idempotency import IdempotentRunner, Produced
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import (
    ChatQuery,
    Cursor,
    IdempotencyKey,
    Limit,
    MessageId,
    SessionId,
    Source,
    TurnQuery,
    to_sources,
)
from gleaner.errors import InvalidCursor, UnknownSelection, UnknownSession
from gleaner.model import AnswerStatus, JsonObject, Mode
from gleaner.passage_ids import address_of
from gleaner.stores.conversation_items import Message, answer_metadata, cited_sources
from gleaner.stores.conversations import ConversationStore

Id = Annotated[SessionId, Path()]
Answerer = Callable[[ChatQuery], Answer]


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
    """A page of a session's messages, the oldest first."""

    session_id: str
    messages: list[MessageItem]
    next_cursor: str | None


class SelectedTextItem(BaseModel):
    """The text that a question was about, as it was sent; `message_id` identifies the question."""

    message_id: str
    selected_text: str
    chapter_origin: str | None
    created_at: str


class TurnAnswer(BaseModel):
    """The answer of a turn, as the message that is stored, with its sources."""

    message: MessageItem
    sources: list[Source]


class MessageRoutes:
    """The routes below /api/sessions/{session_id}, except its tool calls."""

    def __init__(
        self,
        conversations: ConversationStore,
        answer: Answerer,
        idempotent: IdempotentRunner,
        current: Current,
        *,
        default_kb_id: str,
    ) -> None:
        """`answer` answers a question of the current request."""
        self._conversations = conversations
        self._answer = answer
        self._idempotent = idempotent
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        unknown = (UnknownSession, *STORE_FAILURES)
        history, selection = (InvalidCursor, *unknown), (UnknownSelection, *unknown)
        return [
            Route(Endpoint.ASK_IN_SESSION, self._chat, raises=ANSWER_FAILURES),
            Route(Endpoint.ASK_IN_SESSION_STREAMED, self._chat, raises=ANSWER_FAILURES),
            Route(Endpoint.LIST_MESSAGES, self._messages, raises=history),
            Route(Endpoint.SHOW_SELECTED_TEXT, self._selected_text, raises=selection),
        ]

    def _chat(
        self, session_id: Id, body: Annotated[TurnQuery, Body()], idempotency_key: IdempotencyKey = None
    ) -> Response[TurnAnswer]:
        def produce() -> Produced[TurnAnswer]:
            answer = self._answer(ChatQuery(**body.model_dump(), session_id=session_id))
            turn = _to_turn_answer(session_id, answer, body.mode)
            return Produced(turn, is_kept=answer.status is AnswerStatus.SUCCESS)

        def recheck(_stored: JsonObject) -> None:  # nor are answers of a deleted session replayed
            request = self._current()
            request.caller.require_knowledge_base(body.kb_id or self._default_kb_id)
            self._conversations.get(session_id, request.caller.id, deadline=request.deadline)

        route = Endpoint.ASK_IN_SESSION.path.replace("<session_id>", session_id)
        key = None if body.fresh else idempotency_key
        return ok(self._idempotent.run(key, self._current(), route, body, produce, recheck))

    def _messages(self, session_id: Id, limit: Limit = 50, cursor: Cursor = None) -> Response[MessagePage]:
        request = self._current()
        scope = (Endpoint.SHOW_SESSION.path, session_id, "messages")
        after = _cursors.decode(cursor, scope=scope, length=1)[0] if cursor else ""
        self._conversations.get(session_id, request.caller.id, deadline=request.deadline)
        page = self._conversations.list_messages(session_id, limit=limit + 1, after=after, deadline=request.deadline)
        messages = take_fitting([_to_message(session_id, message) for _, message in page[:limit]])
        next_cursor = _cursors.encode((page[len(messages) - 1][0],), scope=scope) if len(page) > len(messages) else None
        return ok(MessagePage(session_id=session_id, messages=messages, next_cursor=next_cursor))

    def _selected_text(self, session_id: Id, message_id: Annotated[MessageId, Path()]) -> Response[SelectedTextItem]:
        request = self._current()
        self._conversations.get(session_id, request.caller.id, deadline=request.deadline)
        query_id = message_id.partition("-")[0]
        selection = self._conversations.get_selected_text(session_id, query_id, deadline=request.deadline)
        created_at = selection.created_at.isoformat(timespec="microseconds")
        return ok(
            SelectedTextItem(
                message_id=selection.message_id,
                selected_text=selection.selected_text,
                chapter_origin=selection.chapter_origin,
                created_at=created_at,
            )
        )


def _to_turn_answer(session_id: str, answer: Answer, mode: Mode) -> TurnAnswer:
    sources = cited_sources(answer.sources, answer.supports, answer.supporting_texts)
    message = MessageItem(
        id=answer.message_id,
        session_id=session_id,
        role="assistant",
        content=answer.text,
        created_at=answer.created_at.isoformat(timespec="microseconds"),
        mode=mode.value,
        metadata=_to_metadata(answer_metadata(answer.facts, sources)),
    )
    return TurnAnswer(message=message, sources=to_sources(answer))


def _to_metadata(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a message, whose sources carry the addresses of their passages as those of an answer do."""
    sources = [
        {name: value for name, value in source.items() if name != "passage_id"}
        | {"passage_url": address_of(source["passage_id"]) if "passage_id" in source else None}
        for source in stored.get("sources", ())
    ]
    return dict(stored) | ({"sources": sources} if sources else {})


def _to_message(session_id: str, message: Message) -> MessageItem:
    return MessageItem(
        id=message.message_id,
        session_id=session_id,
        role=message.role,
        content=message.content,
        created_at=message.created_at.isoformat(timespec="microseconds"),
        mode=message.mode,
        metadata=_to_metadata(message.metadata),
    )
