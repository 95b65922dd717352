"""Domain types that the parts of the service exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from ulid import ULID

JsonObject = dict[str, Any]

ANONYMOUS = "anonymous"  # the caller of a request without credentials
# Other callers: the kind of authorizer and the caller's id there, set by the authorizer. Callers cannot choose it.
CALLER_PATTERN = r"(cognito|iam|key):\S*[^\s,]"
GROUP_PREFIX = "group:"  # before the name of a group of a Cognito user pool
KB_ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"  # contains no separator of keys
# Namespaces of the vector index that end so hold what was learned for a knowledge base. No kb_id contains a dot; a
# namespace may have any 512 ASCII characters (docs.pinecone.io/reference/api/database-limits/identifier-limits).
ANSWERS_SUFFIX = ".answers"


def new_id() -> str:
    """Return a new ULID, so that ids sort by creation time (in milliseconds)."""
    return str(ULID())


def utc_now() -> datetime:
    """Return the current time in UTC, with its time zone."""
    return datetime.now(UTC)


class Mode(StrEnum):
    """The text that a question is about."""

    WHOLE_BOOK = "whole_book"
    SELECTED_TEXT = "selected_text"


class Grounding(StrEnum):
    """How far an answer may go beyond the knowledge base."""

    OPEN = "open"  # the web may be searched
    STRICT = "strict"  # retrieved context only: the textbook assistant


class LearningMode(StrEnum):
    """Who finds what a question learned from the web."""

    SHARED = "shared"  # all callers of the knowledge base
    CALLER = "caller"  # only the caller who asked
    OFF = "off"  # nobody: nothing is learned, and nothing that was learned is looked up


class Support(StrEnum):
    """How well a passage supports the statements that cite it."""

    FOUND = "found"  # it contains the key terms of the statement, and every number
    WEAK = "weak"  # it contains some of them, or not every number
    NONE = "none"


class Answered(StrEnum):
    """How far an answer answers its question from its sources, from the most to the least."""

    FOUND = "found"
    PARTLY = "partly"
    NOT_FOUND = "not_found"


class SourceType(StrEnum):
    """Where a passage comes from."""

    KNOWLEDGE_BASE = "knowledge_base"
    EXTERNAL = "external"


class DocumentState(StrEnum):
    """What became of a document that was put into the object store."""

    QUEUED = "queued"  # its upload was allowed, or it waits for its turn
    LOADING = "loading"
    LOADED = "loaded"
    SKIPPED = "skipped"  # it cannot become a document, and the reason says why
    FAILED = "failed"  # loading it ended with an error, which may be gone at the next try


class AnswerStatus(StrEnum):
    """The status of an answer; `fallback` means a degraded path, such as a failed web search or a late answer."""

    SUCCESS = "success"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One chunk of a document in the vector index. `id` is that of `chunk_id`.

    `heading` is searched with the text, but neither shown nor quoted: title, chapter and description of the page.
    """

    id: str
    text: str
    title: str
    source_file_path: str
    chunk_index: int
    content_hash: str  # hash of the entire document; all chunks of a version share it
    chapter: str | None = None
    source_url: str | None = None
    page_number: int | None = None
    heading: str = ""
    page_label: str | None = None  # the number that the page bears in print
    loaded_at: str | None = None  # ISO 8601 in UTC; None in records of earlier versions and of other programs
    owner: str | None = None  # the hash of the only caller who may find it; None: all may
    groups: tuple[str, ...] = ()  # whose members may read it (gleaner.groups); none: all callers may


CHUNK_SEPARATOR = "#"  # between the id of a document and the index of a chunk


def chunk_id(document_id: str, index: int) -> str:
    """The id of a chunk's record. Chunk 0 marks that all other chunks of its version are stored."""
    return f"{document_id}{CHUNK_SEPARATOR}{index}"


def document_of(record_id: str) -> str:
    """The id of the document that a record belongs to: its own, where another program stored a document as one."""
    return record_id.rpartition(CHUNK_SEPARATOR)[0] or record_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit:
    """A record found by a search; `score` is 0 to 1, higher is closer."""

    record: Record
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One page that the web search used."""

    url: str
    title: str
    snippet: str = ""
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """A complete answer of the web search, stored for reuse within one knowledge base."""

    result_id: str
    kb_id: str
    query: str
    answer: str
    citations: tuple[Citation, ...]
    model: str
    created_at: datetime
    keyword_ids: frozenset[str] = frozenset()  # of active keywords that lead to it; as read from the store
    answers: str = ""  # the question in general words that it answers; empty in items of earlier versions
    valid_for_hours: int | None = None  # None: it does not expire before all answers do
    owner: str | None = None  # the hash of the only caller who may find it; None: all may
    groups: tuple[str, ...] = ()  # whose members may find it, too; none: this limits nobody
    is_doubtful: bool = False  # rated poor by so many callers that it is not handed out

    @property
    def question(self) -> str:
        """The question that it answers, as other callers may see it."""
        return self.answers or self.query


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a passage is stored, so that it can be read again."""

    kb_id: str
    key: str  # the id of the record, or of the stored web answer
    is_learned: bool = False  # a stored web answer
    page: int | None = None  # of a stored web answer: one of its pages, from 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPage:
    """A page of a stored web answer, and the sentences of the answer that came from it."""

    url: str
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of context that the model may cite by `id`, which is unique within one query."""

    key: str  # identifies the record, stored web answer or page; the same in every search
    id: str = ""  # empty until the model sees it
    content: str
    score: float  # 0 to 1, on one scale for both source types
    source_type: SourceType
    title: str
    chapter: str | None = None
    source_file_path: str | None = None
    source_url: str | None = None
    page_number: int | None = None
    page_label: str | None = None  # the number that the page bears in print
    chunk_index: int | None = None
    position: int | None = None  # offset of its first character in the selected text
    keywords: tuple[str, ...] = ()  # the keywords that led to a stored web answer
    keyword_ids: tuple[str, ...] = ()
    result_id: str | None = None  # of a stored web answer
    date: str | None = None
    answers: str | None = None  # the question that a stored web answer was given to
    urls: tuple[str, ...] = ()  # all URLs that an answer based on this passage may link to
    is_own: bool = False  # from a document of the owner: an answer may also link to the addresses in `content`
    pages: tuple[StatedPage, ...] = ()  # of a stored web answer; of a source: those that its sentences came from
    backing: str | None = None  # of a stored web answer: what is kept of its pages, by which its support is judged
    place: Place | None = None  # None: it is not stored, as a selected text, or a page that was not learned from
    groups: tuple[str, ...] = ()  # whose members may read it; none: all callers may


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of the model; `arguments` is unparsed and untrusted text."""

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
    """A tool as the model sees it; `parameters` is a JSON schema.

    `choices` holds, for a parameter of strings, the only values that are valid at the moment. They are not part of the
    schema, because providers cache a list of tools that does not change.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens as counted by the provider of the model."""

    input_tokens: int = 0
    cached_input_tokens: int = 0  # of the input tokens
    cache_write_tokens: int = 0  # of the input tokens
    output_tokens: int = 0
    reasoning_tokens: int = 0  # of the output tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Add all fields."""
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialCall:
    """A tool call of which a part has arrived.

    A request that fails on the way is sent again: `attempt` then counts up, and what came before is void.
    """

    attempt: int
    position: int  # among the calls of the turn
    tool: str
    arguments: str  # JSON text so far


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """The response of the model to one request.

    `opaque` holds fields of the provider that must come back unchanged in the next request of the same question, such
    as encrypted reasoning. Only the client reads them; they are never stored, logged or shown.
    """

    tool_calls: tuple[ToolCall, ...]
    content: str
    finish_reason: str
    model: str
    opaque: Any = field(default=None, repr=False)
    usage: TokenUsage = field(default_factory=TokenUsage)
    is_refused: bool = False  # the model refused to go on, or a content filter stopped it
