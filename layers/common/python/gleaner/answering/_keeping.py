"""Reads what was said before a question, and keeps its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gleaner.answering.exchange import Answer, EarlierMessage, QuestionRequest
from gleaner.groups import NOBODY, Groups, common_groups
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.conversation_items import Message, Session, Turn, cited_sources
from gleaner.stores.conversations import ConversationStore

_MAX_MESSAGES = 40  # of a history; how many reach the model depends on their length


@dataclass(frozen=True, slots=True)
class History:
    """The newest messages before a question, oldest first, and whether its session has no turn yet."""

    messages: Sequence[Message | EarlierMessage]
    is_first: bool

    def groups_for(self, own: frozenset[str]) -> Groups:
        """Whom what these messages rest on is for, as `common_groups` returns them, in a question of a member of `own`.

        A client does not tell what its messages rest on: it may be documents of any of these groups.
        """
        if any(isinstance(message, EarlierMessage) for message in self.messages):
            return NOBODY if own else ()
        return common_groups(message.groups for message in self.messages if isinstance(message, Message))


def load_history(request: QuestionRequest, conversations: ConversationStore, deadline: Deadline) -> History:
    """The client's own history, or else the session's. Raises UnknownSession, whichever it is."""
    stored: Sequence[Message] = ()
    if request.session_id is not None:
        stored = conversations.get_recent_messages(
            request.session_id, request.caller_id, limit=_MAX_MESSAGES, deadline=deadline
        )
    sent = request.history
    return History(stored if sent is None else sent[-_MAX_MESSAGES:], is_first=not stored)


def keep(
    answer: Answer,
    request: QuestionRequest,
    asked_at: datetime,
    conversations: ConversationStore,
    deadline: Deadline,
    *,
    is_first: bool,
) -> None:
    """Store the question and its answer in their session; without one in the request, in a new one.

    A question that is not kept is noted instead, in as many round trips, so that erasing its caller finds its tool
    calls. Raises UnknownSession if the session was deleted in the meantime, StoreUnavailable or DeadlineExceeded.
    """
    if answer.session_id is None:
        count = answer.facts.tool_call_count
        conversations.note_query(request.caller_id, answer.query_id, count, deadline=deadline)
        return
    turn = _to_turn(answer, answer.session_id, request, asked_at, is_first=is_first)
    session = Session(session_id=turn.session_id, owner=turn.owner, created_at=asked_at, updated_at=utc_now())
    conversations.add_turn(turn, new_session=session if request.session_id is None else None, deadline=deadline)


def _to_turn(answer: Answer, session_id: str, request: QuestionRequest, asked_at: datetime, *, is_first: bool) -> Turn:
    return Turn(
        query_id=answer.query_id,
        session_id=session_id,
        owner=request.caller_id,
        question=request.query,
        answer=answer.text,
        mode=request.mode.value,
        asked_at=asked_at,
        answered_at=answer.created_at,
        facts=answer.facts,
        is_first=is_first,
        selected_text=request.selected_text,
        chapter_origin=request.chapter_origin,
        sources=cited_sources(answer.sources, answer.supports, answer.supporting_texts),
        groups=answer.groups,
    )
