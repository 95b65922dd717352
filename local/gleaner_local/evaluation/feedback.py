"""Makes cases of questions whose answers were rated poor, without the secrets and personal data in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    """What feedback gave: draft cases, and how many poor ratings are of questions that are not kept any more."""

    cases: list[Case]
    gone: int = 0


def collect_poor_answers(tables: Tables) -> Harvest:
    """A draft case for each answer that was rated at most MAX_POOR, of all callers, the oldest question first.

    Reads the whole table of tool calls. Raises StoreUnavailable or DeadlineExceeded.
    """
    conversations = ConversationStore(Table(tables.client, tables.conversations))
    harvest = Harvest([])
    for rating in sorted(_iter_ratings(tables), key=lambda item: str(item["pk"])):
        case = _to_case(rating, tables, conversations)
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
    """The case of a rating; None if its question was not kept, or was deleted."""
    query_id = schema.query_of_call(rating)
    first_call = Table(tables.client, tables.tool_calls).get(
        schema.tool_call_key(query_id, 0), deadline=Deadline.after(_SECONDS)
    )
    session_id = (first_call or {}).get("session_id")
    if session_id is None:
        return None
    deadline = Deadline.after(_SECONDS)
    page = conversations.list_messages(session_id, limit=_MAX_MESSAGES, after="", deadline=deadline)
    questions = [message for _, message in page if message.role == "user"]
    ids = [message.message_id for message in questions]
    if message_id(query_id, "user") not in ids:
        return None
    position = ids.index(message_id(query_id, "user"))
    comment = redact(str(rating.get("comment") or ""))
    return Case(
        id=f"feedback-{query_id}",
        query=redact(questions[position].content),
        turns=tuple(redact(turn.content) for turn in questions[max(0, position - _MAX_TURNS) : position]),
        tags=("feedback",),
        draft=True,
        note=f"Rated {rating['rating']} of 5. {comment}".strip(),
        **_selection(questions[position], session_id, query_id, conversations),
    )


def _selection(question: Message, session_id: str, query_id: str, conversations: ConversationStore) -> dict[str, Any]:
    """The selected text of a question about one."""
    if question.mode != Mode.SELECTED_TEXT.value:
        return {}
    try:
        selection = conversations.get_selected_text(session_id, query_id, deadline=Deadline.after(_SECONDS))
    except UnknownSelection:
        return {}
    origin = {"chapter_origin": redact(selection.chapter_origin)} if selection.chapter_origin else {}
    return {"selected_text": redact(selection.selected_text), **origin}
