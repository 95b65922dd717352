"""Makes cases of questions whose answers were rated poor, without the secrets and personal data in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gleaner.api.schemas import MAX_CHAPTER_ORIGIN, MAX_QUERY, MAX_SELECTION
from gleaner.errors import UnknownSelection
from gleaner.guards.redaction import redact
from gleaner.model import Mode
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.conversation_items import Message, message_id
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_item, to_item
from gleaner_local.evaluation.cases import Case

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

MAX_POOR = 2  # a rating, of 1 to 5
_MAX_TURNS = 3  # before the question: the topic of a follow-up question is not further back
_MAX_MESSAGES = 200  # of a session that are looked through
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that hold feedback and questions."""

    client: DynamoDBClient
    tool_calls: str
    conversations: str


@dataclass(slots=True)
class Harvest:
    """What feedback gave.

    `gone` counts poor ratings of questions that are not kept any more, `unusable` names those that make no case.
    """

    cases: list[Case]
    gone: int = 0
    unusable: list[str] = field(default_factory=list)


class _UnusableRating(Exception):
    """What was asked makes no valid case; the message names the question and says why."""


def collect_poor_answers(tables: Tables) -> Harvest:
    """A draft case for each answer that was rated at most MAX_POOR, of all callers, the oldest question first.

    Reads the whole table of tool calls. Raises StoreUnavailable or DeadlineExceeded.
    """
    conversations = ConversationStore(Table(tables.client, tables.conversations))
    harvest = Harvest([])
    for rating in sorted(_iter_ratings(tables), key=lambda item: str(item["pk"])):
        try:
            case = _to_case(rating, tables, conversations)
        except _UnusableRating as problem:
            harvest.unusable.append(str(problem))
            continue
        if case is None:
            harvest.gone += 1
        else:
            harvest.cases.append(case)
    return harvest


def _iter_ratings(tables: Tables) -> Iterator[dict[str, Any]]:
    pages = tables.client.get_paginator("scan").paginate(
        TableName=tables.tool_calls,
        FilterExpression="sk = :feedback AND rating <= :poor",
        ExpressionAttributeValues=to_item({":feedback": schema.feedback_key("")["sk"], ":poor": MAX_POOR}),
    )
    for page in pages:
        yield from map(from_item, page["Items"])


def _to_case(rating: dict[str, Any], tables: Tables, conversations: ConversationStore) -> Case | None:
    """The case of a rating; None if its question was not kept, or was deleted. Raises _UnusableRating."""
    query_id = schema.query_of_call(rating)
    first_call = Table(tables.client, tables.tool_calls).get(
        schema.tool_call_key(query_id, 0), deadline=Deadline.after(_SECONDS)
    )
    session_id = (first_call or {}).get("session_id")
    if session_id is None:
        return None
    questions = _list_questions(session_id, query_id, conversations)
    if not questions:
        return None
    *turns, question = questions
    comment = redact(str(rating.get("comment") or ""))
    try:
        return Case(
            id=f"feedback-{query_id}",
            query=_redact(question.content, MAX_QUERY),
            turns=tuple(_redact(turn.content, MAX_QUERY) for turn in turns),
            tags=("feedback",),
            draft=True,
            note=f"Rated {rating['rating']} of 5. {comment}".strip(),
            **_selection(question, session_id, query_id, conversations),
        )
    except ValidationError as error:
        raise _UnusableRating(f"{query_id}: {error.errors()[0]['msg']}") from error


def _list_questions(session_id: str, query_id: str, conversations: ConversationStore) -> list[Message]:
    """The question of a query at the end, after those before it that it may follow; empty if it was deleted."""
    deadline = Deadline.after(_SECONDS)
    page = conversations.list_messages(session_id, limit=_MAX_MESSAGES, after="", deadline=deadline)
    questions = [message for _, message in page if message.role == "user"]
    ids = [message.message_id for message in questions]
    if message_id(query_id, "user") not in ids:
        return []
    position = ids.index(message_id(query_id, "user"))
    return questions[max(0, position - _MAX_TURNS) : position + 1]


def _redact(text: str, max_length: int) -> str:
    """The text without secrets and personal data. What stands for these may be longer, so the end may be cut off."""
    return redact(text)[:max_length]


def _selection(question: Message, session_id: str, query_id: str, conversations: ConversationStore) -> dict[str, Any]:
    """The selected text of a question about one."""
    if question.mode != Mode.SELECTED_TEXT.value:
        return {}
    try:
        selection = conversations.get_selected_text(session_id, query_id, deadline=Deadline.after(_SECONDS))
    except UnknownSelection:
        return {}
    origin = selection.chapter_origin
    fields = {"chapter_origin": _redact(origin, MAX_CHAPTER_ORIGIN)} if origin else {}
    return {"selected_text": _redact(selection.selected_text, MAX_SELECTION), **fields}
