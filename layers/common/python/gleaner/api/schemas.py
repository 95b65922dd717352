"""Request and response models of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from gleaner import text
from gleaner.answering import Answer
from gleaner.model import KB_ID_PATTERN, AnswerStatus, Grounding, Mode, Passage, SourceType

LONGEST_QUERY = 50_000  # characters
LONGEST_SELECTION = 100_000
_PREVIEW_CHARACTERS = 200


def _cleaned(value: object) -> object:
    # Before the type is checked: pydantic refuses lone surrogates, which people paste from broken text.
    return text.clean(value).strip() if isinstance(value, str) else value


Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY), BeforeValidator(_cleaned)]
SelectedText = Annotated[str, Field(min_length=1, max_length=LONGEST_SELECTION), BeforeValidator(_cleaned)]
ChapterOrigin = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(_cleaned)]
SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
QueryId = SessionId
KbId = Annotated[str, StringConstraints(pattern=KB_ID_PATTERN)]


class TurnQuery(BaseModel):
    """A question, of a knowledge base or of a selected text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Query
    kb_id: KbId | None = None
    mode: Annotated[Mode, Field(strict=False)] = Mode.WHOLE_BOOK
    selected_text: SelectedText | None = Field(None, description="With the mode selected_text, and only then.")
    chapter_origin: ChapterOrigin | None = None
    grounding: Annotated[Grounding, Field(strict=False)] = Grounding.OPEN

    @model_validator(mode="after")
    def _selection_fits_mode(self) -> Self:
        if (self.mode is Mode.SELECTED_TEXT) != (self.selected_text is not None):
            raise ValueError("the mode selected_text and the field selected_text go together")
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
    position: int | None = Field(description="Of its first character in the selected text.")
    text_preview: str
    confidence_score: float


class AnswerMetadata(BaseModel):
    """What produced the answer."""

    model: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int


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
    metadata: AnswerMetadata


def to_chat_answer(answer: Answer) -> ChatAnswer:
    """The answer as it goes out."""
    return ChatAnswer(
        query_id=answer.query_id,
        session_id=answer.session_id,
        message_id=answer.message_id,
        status=answer.status,
        answer=answer.text,
        sources=[to_source(passage) for passage in answer.sources],
        confidence_score=answer.confidence_score,
        used_internal_kb=answer.used(SourceType.KNOWLEDGE_BASE),
        used_external_kb=answer.used(SourceType.EXTERNAL),
        tool_call_count=answer.facts.tool_call_count,
        used_tools=list(answer.facts.used_tools),
        keyword_count=answer.facts.keyword_count,
        latency_ms=answer.facts.latency_ms,
        metadata=AnswerMetadata(
            model=answer.facts.model,
            input_tokens=answer.facts.usage.input_tokens,
            cached_input_tokens=answer.facts.usage.cached_input_tokens,
            output_tokens=answer.facts.usage.output_tokens,
        ),
    )


def to_source(passage: Passage) -> Source:
    """The source as it goes out."""
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
    )


def _preview(passage: Passage) -> str:
    """The beginning of the passage, without the heading line that repeats its chapter for the index."""
    body = passage.content.removeprefix(f"# {passage.chapter}\n")
    return text.collapse(body)[:_PREVIEW_CHARACTERS]
