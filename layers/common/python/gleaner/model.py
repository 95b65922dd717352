"""Domain types: what the parts of the service hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from ulid import ULID

JsonObject = dict[str, Any]

KB_ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"  # no separator of a key can hide in it


def new_id() -> str:
    """A new identifier: a ULID, so that ids sort by the time they were made (millisecond resolution)."""
    return str(ULID())


def utc_now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


class Mode(StrEnum):
    """What a question is asked of."""

    WHOLE_BOOK = "whole_book"
    SELECTED_TEXT = "selected_text"


class Grounding(StrEnum):
    """How far an answer may go beyond the knowledge base."""

    OPEN = "open"  # the web may be searched
    STRICT = "strict"  # retrieved context only: the textbook assistant


class Support(StrEnum):
    """How well a passage supports what the answer says on it."""

    FOUND = "found"  # it holds the statement's key terms, and every number
    WEAK = "weak"  # it holds some of them, or not every number
    NONE = "none"


class SourceType(StrEnum):
    """Where a passage comes from."""

    KNOWLEDGE_BASE = "knowledge_base"
    EXTERNAL = "external"


class AnswerStatus(StrEnum):
    """`fallback`: answered on a degraded path (web search failed, answer forced by the deadline)."""

    SUCCESS = "success"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One chunk of a document as it stands in the vector index. `id` is `<document id>#<chunk index>`."""

    id: str
    text: str
    title: str
    source_file_path: str
    chunk_index: int
    content_hash: str  # of the whole document: all chunks of one version share it
    chapter: str | None = None
    source_url: str | None = None
    page_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit:
    """A record found by a search; `score` is 0 to 1, higher is closer."""

    record: Record
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One page the web search relied on."""

    url: str
    title: str
    snippet: str = ""
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """A complete answer of the web search, as it is stored for reuse within one knowledge base."""

    result_id: str
    kb_id: str
    query: str
    answer: str
    citations: tuple[Citation, ...]
    model: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of context that the model may cite by `id`, which is unique within one query."""

    key: str  # of what it stands for: a record, a stored web answer, a page; the same in every search
    id: str = ""  # empty until it is handed to the model
    content: str
    score: float  # 0 to 1, one scale for both kinds of source
    source_type: SourceType
    title: str
    chapter: str | None = None
    source_file_path: str | None = None
    source_url: str | None = None
    page_number: int | None = None
    chunk_index: int | None = None
    position: int | None = None  # of its first character in the selected text
    keywords: tuple[str, ...] = ()  # that led to it, when it is a stored web answer
    keyword_ids: tuple[str, ...] = ()
    date: str | None = None
    urls: tuple[str, ...] = ()  # every address an answer resting on this passage may link to


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call as the model made it; `arguments` is unparsed text that is not to be trusted."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a conversation with the model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: Any = field(default=None, repr=False)  # as in ModelTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is offered to the model; `parameters` is a JSON schema.

    `choices` names, for a parameter of strings, the only values that are valid at the moment. They are not part of
    the schema, because providers cache a list of tools that stays the same.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens as the model's provider counts them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0  # of the input tokens
    cache_write_tokens: int = 0  # of the input tokens
    output_tokens: int = 0
    reasoning_tokens: int = 0  # of the output tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """The sum, field by field."""
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """What the model answered to one request.

    `opaque` holds fields of the provider that must come back unchanged in the next request of the same question, such
    as encrypted reasoning. Only the client reads them; they are never stored, logged or shown.
    """

    tool_calls: tuple[ToolCall, ...]
    content: str
    finish_reason: str
    model: str
    opaque: Any = field(default=None, repr=False)
    usage: TokenUsage = field(default_factory=TokenUsage)
