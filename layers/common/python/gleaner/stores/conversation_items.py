"""The items of the conversations table: sessions, messages and selected texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gleaner import text
from gleaner.groups import ACL, Groups, read_stored_groups
from gleaner.guards.redaction import redact
from gleaner.model import Answered, Passage, Support
from gleaner.passage_ids import encode_passage
from gleaner.runtime.pricing import Cost
from gleaner.stores import _long_text
from gleaner.stores.items import from_timestamp

_MAX_TITLE = 100  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation of one caller, with totals over its turns."""

    session_id: str
    owner: str
    created_at: datetime
    updated_at: datetime
    title: str | None = None  # its first question, shortened; None before there is one
    metadata: Mapping[str, Any] = field(default_factory=dict)  # set by the caller
    message_count: int = 0
    tool_call_count: int = 0
    keyword_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a session."""

    message_id: str
    role: str  # user | assistant
    content: str
    created_at: datetime
    mode: str
    metadata: Mapping[str, Any]
    groups: Groups = ()  # of an answer: whom what it rests on is for


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedText:
    """The text that a question was asked about, exactly as the client sent it."""

    message_id: str  # the question's
    selected_text: str
    chapter_origin: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """How an answer was produced."""

    answered: Answered
    tool_call_count: int
    used_tools: tuple[str, ...]
    keyword_count: int
    retrieval_count: int  # number of passages found
    top_chapter: str | None  # chapter of the first source
    latency_ms: float
    model: str
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer, to be added to a session."""

    query_id: str
    session_id: str
    owner: str
    question: str
    answer: str
    mode: str
    asked_at: datetime
    answered_at: datetime
    facts: TurnFacts
    is_first: bool = False  # of its session, whose title it gives
    selected_text: str | None = None
    chapter_origin: str | None = None
    sources: Sequence[Mapping[str, Any]] = ()  # of the answer, as `cited_sources` describes them
    groups: Groups = ()  # whom what the answer rests on is for; a later answer that rests on it is for no others

    def title(self) -> str | None:
        """The title that the turn gives its session, in one line; None if an earlier one did."""
        # Redact before cutting: half a secret matches no pattern.
        return text.collapse(redact(self.question))[:_MAX_TITLE] or None if self.is_first else None

    def totals(self) -> dict[str, int]:
        """What the turn adds to the totals of its session."""
        return {
            "message_count": 2,
            "tool_call_count": self.facts.tool_call_count,
            "keyword_count": self.facts.keyword_count,
            "input_tokens": self.facts.cost.usage.input_tokens,
            "output_tokens": self.facts.cost.usage.output_tokens,
        }


PackedItem = tuple[dict[str, Any], list[bytes]]  # attributes of an item, and the further pieces of its long text


def message_id(query_id: str, role: str) -> str:
    """The id of a turn's message. It is derived, so that writing the turn again is idempotent."""
    return f"{query_id}-{role}"


def turn_values(turn: Turn) -> tuple[PackedItem, PackedItem]:
    """The attributes of a turn's question and of its answer, without keys."""
    answer, pieces = _message_values(
        turn, "assistant", turn.answer, turn.answered_at, answer_metadata(turn.facts, turn.sources)
    )
    rights = {ACL: list(turn.groups)} if turn.groups else {}
    return _message_values(turn, "user", turn.question, turn.asked_at, {}), (answer | rights, pieces)


def selection_values(turn: Turn) -> PackedItem:
    """The attributes of the selected text that a turn's question was asked about, without keys."""
    attributes, pieces = _long_text.pack("selected_text", turn.selected_text or "")
    values = {
        "message_id": message_id(turn.query_id, "user"),
        "chapter_origin": turn.chapter_origin,
        "created_at": turn.asked_at,
    }
    return values | attributes, pieces


def _message_values(
    turn: Turn, role: str, content: str, created_at: datetime, metadata: Mapping[str, Any]
) -> PackedItem:
    attributes, pieces = _long_text.pack("content", content)
    values = {
        "message_id": message_id(turn.query_id, role),
        "role": role,
        "created_at": created_at,
        "mode": turn.mode,
        "metadata": metadata,
    }
    return values | attributes, pieces


def _message_metadata(facts: TurnFacts) -> dict[str, Any]:
    """The metadata of an answer's message. Values of None are omitted, as they are in stored items."""
    values = {
        "answered": facts.answered.value,
        "tool_call_count": facts.tool_call_count,
        "used_tools": list(facts.used_tools),
        "keyword_count": facts.keyword_count,
        "retrieval_count": facts.retrieval_count,
        "top_chapter": facts.top_chapter,
        "latency_ms": facts.latency_ms,
        "model": facts.model,
        "input_tokens": facts.cost.usage.input_tokens,
        "cached_input_tokens": facts.cost.usage.cached_input_tokens,
        "output_tokens": facts.cost.usage.output_tokens,
        "web_searches": facts.cost.web_searches,
        "estimated_usd": facts.cost.estimated_usd,
    }
    return {name: value for name, value in values.items() if value is not None}


def answer_metadata(facts: TurnFacts, sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata of an answer's message, with its sources as `cited_sources` describes them."""
    return _message_metadata(facts) | ({"sources": list(sources)} if sources else {})


def cited_sources(
    sources: Sequence[Passage], supports: Mapping[str, Support], texts: Mapping[str, Sequence[str | None]]
) -> list[dict[str, Any]]:
    """What is kept of sources, so that a conversation that is opened again can show them and read whole passages."""
    return [_cited_source(source, supports[source.id], texts[source.id]) for source in sources]


def _cited_source(source: Passage, support: Support, texts: Sequence[str | None]) -> dict[str, Any]:
    values = {
        "id": source.id,
        "source_type": source.source_type.value,
        "title": source.title,
        "chapter": source.chapter,
        "source_file_path": source.source_file_path,
        "source_url": source.source_url,
        "page_number": source.page_number,
        "page_label": source.page_label,
        "date": source.date,
        "support": support.value,
        "supporting_texts": list(texts),
        "passage_id": None if source.place is None else encode_passage(source.place, source.content),
    }
    return {name: value for name, value in values.items() if value is not None}


def to_message(item: Mapping[str, Any], pieces: Sequence[bytes]) -> Message:
    """Build a message from its item and the further pieces of its text."""
    return Message(
        message_id=item["message_id"],
        role=item["role"],
        content=_long_text.unpack("content", item, pieces),
        created_at=from_timestamp(item["created_at"]),
        mode=item["mode"],
        metadata=item["metadata"],
        groups=read_stored_groups(item),
    )


def to_selected_text(item: Mapping[str, Any], pieces: Sequence[bytes]) -> SelectedText:
    """Build a selected text from its item and further pieces."""
    return SelectedText(
        message_id=item["message_id"],
        selected_text=_long_text.unpack("selected_text", item, pieces),
        chapter_origin=item.get("chapter_origin"),
        created_at=from_timestamp(item["created_at"]),
    )


def to_session(item: Mapping[str, Any]) -> Session:
    """Build a session from its item."""
    totals = ("message_count", "tool_call_count", "keyword_count", "input_tokens", "output_tokens")
    return Session(
        session_id=item["session_id"],
        owner=item["owner"],
        created_at=from_timestamp(item["created_at"]),
        updated_at=from_timestamp(item["updated_at"]),
        title=item.get("title"),
        metadata=item.get("metadata", {}),
        **{name: item.get(name, 0) for name in totals},
    )
