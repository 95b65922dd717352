"""Request and response models of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Self

from aws_lambda_powertools.event_handler.openapi.params import Header
from aws_lambda_powertools.event_handler.openapi.params import Query as QueryParameter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticKnownError

from gleaner import text
from gleaner.answering.exchange import Answer
from gleaner.model import KB_ID_PATTERN, Answered, AnswerStatus, Grounding, Mode, Passage, SourceType, Support
from gleaner.passage_ids import passage_address
from gleaner.runtime.pricing import Cost

MAX_QUERY = 50_000  # characters
MAX_SELECTION = 100_000  # characters
MAX_CHAPTER_ORIGIN = 200  # characters
_PREVIEW_CHARACTERS = 200
MAX_IDEMPOTENCY_KEY = 255  # characters


def cleaned_up_to(max_length: int) -> BeforeValidator:
    """Remove invisible characters and outer whitespace from a string of at most `max_length` characters.

    Other values are unchanged, for a later type check. The length is checked first, of the characters as they were
    sent, so that cleaning never takes longer than a valid request.
    """

    def clean(value: object) -> object:
        # Must run before pydantic's type check, which rejects lone surrogates that people paste from broken text.
        return text.clean(_check_length(value.strip(), max_length)).strip() if isinstance(value, str) else value

    return BeforeValidator(clean)


def keep_if_visible(value: object) -> object:
    """A string as it was sent, because positions refer to it; empty if it has no visible characters."""
    if not isinstance(value, str):
        return value
    sent = _check_length(value, MAX_SELECTION)
    return "" if text.find_visible_start(sent) == len(sent) else text.replace_surrogates(sent)


def _check_length(value: str, max_length: int) -> str:
    if len(value) > max_length:
        raise PydanticKnownError("string_too_long", {"max_length": max_length})
    return value


Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY), cleaned_up_to(MAX_QUERY)]
SelectedText = Annotated[str, Field(min_length=1, max_length=MAX_SELECTION), BeforeValidator(keep_if_visible)]
ChapterOrigin = Annotated[str, Field(min_length=1, max_length=MAX_CHAPTER_ORIGIN), cleaned_up_to(MAX_CHAPTER_ORIGIN)]
_ULID_PATTERN = r"^[0-9A-HJKMNP-TV-Z]{26}$"
_MESSAGE_ID_PATTERN = r"^[0-9A-HJKMNP-TV-Z]{26}-(user|assistant)$"
_KEYWORD_ID_PATTERN = r"^s?[0-9a-f]{32}$"
_CALLER_PATTERN = r"^((cognito|iam|key):[^\s]+|anonymous)$"
MEDIA_TYPE_PATTERN = r"^[A-Za-z0-9.+_-]+/[A-Za-z0-9.+_-]+( *;[\x20-\x7e]*)?$"
IDEMPOTENCY_KEY_PATTERN = r"^[\x21-\x7e]+$"
# What strings that match a pattern are, in words that complete "must be ...".
FORMS = {
    _ULID_PATTERN: "an id from an earlier response: 26 digits and capital letters",
    _MESSAGE_ID_PATTERN: "a message id from an earlier response: 26 digits and capital letters, a hyphen and the role",
    _KEYWORD_ID_PATTERN: "a keyword id from a list: 32 digits and letters from a to f, most with an s before them",
    IDEMPOTENCY_KEY_PATTERN: "visible ASCII characters without spaces",
    MEDIA_TYPE_PATTERN: "a media type such as text/plain",
    _CALLER_PATTERN: "a caller's id such as key:ID, cognito:SUB, iam:ARN or anonymous",
    KB_ID_PATTERN: "1 to 63 lowercase letters, digits, hyphens and underscores, starting with a letter or digit",
}

SessionId = Annotated[str, StringConstraints(pattern=_ULID_PATTERN)]
QueryId = SessionId
MessageId = Annotated[str, StringConstraints(pattern=_MESSAGE_ID_PATTERN)]
RunId = SessionId
AnswerId = SessionId  # of a stored web answer
KeywordId = Annotated[str, StringConstraints(pattern=_KEYWORD_ID_PATTERN)]
CallerId = Annotated[str, StringConstraints(pattern=_CALLER_PATTERN, max_length=2048)]
KbId = Annotated[str, StringConstraints(pattern=KB_ID_PATTERN)]
Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Cursor = Annotated[str | None, QueryParameter(max_length=1000)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_IDEMPOTENCY_KEY,
        pattern=IDEMPOTENCY_KEY_PATTERN,
        description="A repeated request with the same key and body gets the first answer.",
    ),
]


def null_means(default: Mode | Grounding | bool) -> BeforeValidator:
    """Takes null for a field that was left out, as clients send it that serialise every field."""
    return BeforeValidator(
        lambda value: default if value is None else value, json_schema_input_type=type(default) | None
    )


class TurnQuery(BaseModel):
    """A question about a knowledge base or a selected text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Query
    kb_id: KbId | None = None
    mode: Annotated[Mode, Field(strict=False), null_means(Mode.WHOLE_BOOK)] = Mode.WHOLE_BOOK
    selected_text: SelectedText | None = Field(None, description="Only with the mode selected_text.")
    chapter_origin: ChapterOrigin | None = Field(None, description="Where the selected text comes from; only with it.")
    grounding: Annotated[Grounding, Field(strict=False), null_means(Grounding.OPEN)] = Grounding.OPEN

    fresh: Annotated[bool, null_means(False)] = Field(
        False, description="Asks past stored web answers, and past the answer of an Idempotency-Key."
    )

    @model_validator(mode="after")
    def _check_selection_and_mode(self) -> Self:
        if (self.mode is Mode.SELECTED_TEXT) != (self.selected_text is not None):
            raise ValueError("the mode selected_text and the field selected_text require each other")
        if self.chapter_origin is not None and self.selected_text is None:
            raise ValueError("the field chapter_origin requires the field selected_text")
        return self


class ChatQuery(TurnQuery):
    """A question that starts or continues a session."""

    session_id: SessionId | None = None


class SourcePage(BaseModel):
    """A web page."""

    url: str
    title: str


class Source(BaseModel):
    """A passage that the answer cites."""

    id: str
    source_type: SourceType
    title: str
    chapter: str | None
    source_file_path: str | None
    source_url: str | None = Field(
        description="Address at which the document or web page is read, if it is known. The answer may link to it."
    )
    pages: list[SourcePage] = Field(
        description="The pages that the cited sentences of a stored web answer came from, the main one first."
    )
    page_number: int | None
    page_label: str | None = Field(description="The number that the page bears in print, where the PDF says so.")
    chunk_index: int | None
    position: int | None = Field(
        description="Where the passage starts in the selected text as it was sent, in Unicode code points from 0."
    )
    date: str | None = Field(description="When the web gave this answer, or the date of the page; null for documents.")
    text_preview: str
    passage_url: str | None = Field(
        description="Where the whole passage is read, relative to the address of the API. Null for what is not stored: "
        "a selected text, or a page of a web search from which nothing was learned."
    )
    confidence_score: float
    support: Support = Field(
        description="Whether the passage contains the key terms and numbers of the sentences that cite it: found, weak "
        "(some of them, or not every number) or none. A source that the answer does not mark is judged by the "
        "sentence that it supports best."
    )
    supporting_texts: list[str | None] = Field(
        description="For each mark of the source in the answer, in their order and for at most 20, the sentence of the "
        "passage with most of the key terms and numbers of the sentence that cites it, at most 300 characters of it; "
        "null if none has enough of them. A source that the answer does not mark has one."
    )


class AnswerMetadata(BaseModel):
    """What produced the answer."""

    model: str


class AnswerCost(BaseModel):
    """The cost of the answer."""

    input_tokens: int
    cached_input_tokens: int = Field(description="Input tokens that the provider read from its cache.")
    output_tokens: int
    web_searches: int
    estimated_usd: float | None = Field(
        description="Tokens and web searches at the configured prices; null if a price is not configured."
    )


class ChatAnswer(BaseModel):
    """The answer to a question."""

    query_id: str
    session_id: str | None = Field(description="null if the question was not kept: there is no session to go on with.")
    message_id: str
    status: AnswerStatus
    answer: str
    answered: Answered = Field(
        description="Whether the sources hold what was asked: found, partly or not_found, as the model judges it. The "
        "service lowers that where words or numbers of the question are missing, and to not_found without sources."
    )
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
    """Convert an answer to its response model."""
    return ChatAnswer(
        query_id=answer.query_id,
        session_id=answer.session_id,
        message_id=answer.message_id,
        status=answer.status,
        answer=answer.text,
        answered=answer.facts.answered,
        sources=to_sources(answer),
        confidence_score=answer.confidence_score,
        used_internal_kb=answer.used(SourceType.KNOWLEDGE_BASE),
        used_external_kb=answer.used(SourceType.EXTERNAL),
        tool_call_count=answer.facts.tool_call_count,
        used_tools=list(answer.facts.used_tools),
        keyword_count=answer.facts.keyword_count,
        latency_ms=answer.facts.latency_ms,
        cost=to_answer_cost(answer.facts.cost),
        metadata=AnswerMetadata(model=answer.facts.model),
    )


def to_answer_cost(cost: Cost) -> AnswerCost:
    """Convert a cost to its response model."""
    return AnswerCost(
        input_tokens=cost.usage.input_tokens,
        cached_input_tokens=cost.usage.cached_input_tokens,
        output_tokens=cost.usage.output_tokens,
        web_searches=cost.web_searches,
        estimated_usd=cost.estimated_usd,
    )


def to_sources(answer: Answer) -> list[Source]:
    """Convert the sources of an answer to their response models."""
    return [_to_source(passage, answer) for passage in answer.sources]


def _to_source(passage: Passage, answer: Answer) -> Source:
    return Source(
        id=passage.id,
        source_type=passage.source_type,
        title=passage.title,
        chapter=passage.chapter,
        source_file_path=passage.source_file_path,
        source_url=passage.source_url,
        pages=[SourcePage(url=page.url, title=page.title) for page in passage.pages],
        page_number=passage.page_number,
        page_label=passage.page_label,
        chunk_index=passage.chunk_index,
        position=passage.position,
        date=passage.date,
        text_preview=preview(passage.content, passage.chapter),
        passage_url=passage_address(passage),
        confidence_score=round(passage.score, 4),
        support=answer.supports[passage.id],
        supporting_texts=list(answer.supporting_texts[passage.id]),
    )


def preview(content: str, chapter: str | None) -> str:
    """The start of a passage, without the heading line that repeats its chapter for the index."""
    return text.collapse(content.removeprefix(f"# {chapter}\n"))[:_PREVIEW_CHARACTERS]
