"""Request and response models of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Self

from aws_lambda_powertools.event_handler.openapi.params import Header
from aws_lambda_powertools.event_handler.openapi.params import Query as QueryParameter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from gleaner import text
from gleaner.answering.exchange import Answer
from gleaner.model import KB_ID_PATTERN, AnswerStatus, Grounding, Mode, Passage, SourceType, Support
from gleaner.runtime.pricing import Cost

LONGEST_QUERY = 50_000  # characters
LONGEST_SELECTION = 100_000
_PREVIEW_CHARACTERS = 200


def cleaned(value: object) -> object:
    """A text without what nobody can read; for use before a type is checked."""
    # Before the type is checked: pydantic refuses lone surrogates, which people paste from broken text.
    return text.clean(value).strip() if isinstance(value, str) else value


def with_visible(value: object) -> object:
    """A text as it was sent, to which positions refer; an empty one when there is nothing in it to read."""
    if not isinstance(value, str):
        return value
    return text.replace_surrogates(value) if cleaned(value) else ""


Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY), BeforeValidator(cleaned)]
SelectedText = Annotated[str, Field(min_length=1, max_length=LONGEST_SELECTION), BeforeValidator(with_visible)]
ChapterOrigin = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(cleaned)]
_ULID_PATTERN = r"^[0-9A-HJKMNP-TV-Z]{26}$"
_MESSAGE_ID_PATTERN = r"^[0-9A-HJKMNP-TV-Z]{26}-(user|assistant)$"
_KEYWORD_ID_PATTERN = r"^[0-9a-f]{32}$"
_IDEMPOTENCY_KEY_PATTERN = r"^[\x21-\x7e]+$"
# What texts of a pattern are, in words: "must be ...".
FORMS = {
    _ULID_PATTERN: "an id as an earlier answer gave it: 26 digits and capital letters",
    _MESSAGE_ID_PATTERN: "a message's id as an earlier answer gave it: an id of 26 characters, a hyphen and the role",
    _KEYWORD_ID_PATTERN: "a keyword's id as a list gave it: 32 digits and letters from a to f",
    _IDEMPOTENCY_KEY_PATTERN: "visible ASCII characters without spaces",
    KB_ID_PATTERN: "1 to 63 small letters, digits, hyphens and underscores, a letter or digit first",
}

SessionId = Annotated[str, StringConstraints(pattern=_ULID_PATTERN)]
QueryId = SessionId
MessageId = Annotated[str, StringConstraints(pattern=_MESSAGE_ID_PATTERN)]
RunId = SessionId
KeywordId = Annotated[str, StringConstraints(pattern=_KEYWORD_ID_PATTERN)]
KbId = Annotated[str, StringConstraints(pattern=KB_ID_PATTERN)]
Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Cursor = Annotated[str | None, QueryParameter(max_length=1000)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=_IDEMPOTENCY_KEY_PATTERN,
        description="A request sent again with the same key and body gets the first answer.",
    ),
]


class TurnQuery(BaseModel):
    """A question, of a knowledge base or of a selected text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Query
    kb_id: KbId | None = None
    mode: Annotated[Mode, Field(strict=False)] = Mode.WHOLE_BOOK
    selected_text: SelectedText | None = Field(None, description="With the mode selected_text, and only then.")
    chapter_origin: ChapterOrigin | None = Field(None, description="Where the selected text comes from; only with it.")
    grounding: Annotated[Grounding, Field(strict=False)] = Grounding.OPEN

    @model_validator(mode="after")
    def _selection_fits_mode(self) -> Self:
        if (self.mode is Mode.SELECTED_TEXT) != (self.selected_text is not None):
            raise ValueError("the mode selected_text and the field selected_text go together")
        if self.chapter_origin is not None and self.selected_text is None:
            raise ValueError("the field chapter_origin says where a selected_text comes from: leave it out without one")
        return self


class ChatQuery(TurnQuery):
    """A question that begins a session, or goes on with one."""

    session_id: SessionId | None = None


class Source(BaseModel):
    """A passage that the answer cites."""

    id: str
    source_type: SourceType
    title: str
    chapter: str | None
    source_file_path: str | None
    source_url: str | None
    page_number: int | None
    chunk_index: int | None
    position: int | None = Field(
        description="Of its first character in the selected text as it was sent, in Unicode code points from 0."
    )
    text_preview: str
    confidence_score: float
    support: Support = Field(
        description="Whether the passage holds the key terms and numbers of the sentences that cite it: found, weak "
        "(some of them, or not every number) or none. A source without a mark in the answer is judged by the "
        "sentence that it supports best."
    )


class AnswerMetadata(BaseModel):
    """What produced the answer."""

    model: str


class AnswerCost(BaseModel):
    """What the answer took."""

    input_tokens: int
    cached_input_tokens: int = Field(description="Those of the input tokens that the provider had in its cache.")
    output_tokens: int
    web_searches: int
    estimated_usd: float | None = Field(
        description="Tokens and web searches at the configured prices; null when a price is not configured."
    )


class ChatAnswer(BaseModel):
    """The answer to a question."""

    query_id: str
    session_id: str
    message_id: str
    status: AnswerStatus
    answer: str
    sources: list[Source]
    confidence_score: float | None
    used_internal_kb: bool
    used_external_kb: bool
    tool_call_count: int
    used_tools: list[str]
    keyword_count: int
    latency_ms: float
    cost: AnswerCost
    metadata: AnswerMetadata


def to_chat_answer(answer: Answer) -> ChatAnswer:
    """The answer as it goes out."""
    return ChatAnswer(
        query_id=answer.query_id,
        session_id=answer.session_id,
        message_id=answer.message_id,
        status=answer.status,
        answer=answer.text,
        sources=to_sources(answer),
        confidence_score=answer.confidence_score,
        used_internal_kb=answer.used(SourceType.KNOWLEDGE_BASE),
        used_external_kb=answer.used(SourceType.EXTERNAL),
        tool_call_count=answer.facts.tool_call_count,
        used_tools=list(answer.facts.used_tools),
        keyword_count=answer.facts.keyword_count,
        latency_ms=answer.facts.latency_ms,
        cost=_to_cost(answer.facts.cost),
        metadata=AnswerMetadata(model=answer.facts.model),
    )


def _to_cost(cost: Cost) -> AnswerCost:
    return AnswerCost(
        input_tokens=cost.usage.input_tokens,
        cached_input_tokens=cost.usage.cached_input_tokens,
        output_tokens=cost.usage.output_tokens,
        web_searches=cost.web_searches,
        estimated_usd=cost.estimated_usd,
    )


def to_sources(answer: Answer) -> list[Source]:
    """The sources as they go out."""
    return [_to_source(passage, answer.supports[passage.id]) for passage in answer.sources]


def _to_source(passage: Passage, support: Support) -> Source:
    return Source(
        id=passage.id,
        source_type=passage.source_type,
        title=passage.title,
        chapter=passage.chapter,
        source_file_path=passage.source_file_path,
        source_url=passage.source_url,
        page_number=passage.page_number,
        chunk_index=passage.chunk_index,
        position=passage.position,
        text_preview=_preview(passage),
        confidence_score=round(passage.score, 4),
        support=support,
    )


def _preview(passage: Passage) -> str:
    """The beginning of the passage, without the heading line that repeats its chapter for the index."""
    body = passage.content.removeprefix(f"# {passage.chapter}\n")
    return text.collapse(body)[:_PREVIEW_CHARACTERS]
