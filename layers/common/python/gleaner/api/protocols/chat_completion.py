"""A chat completion: an answer in the form of OpenAI's API, with its citations as annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gleaner.answering.exchange import Answer
from gleaner.api.labels import label_passage
from gleaner.api.protocols.footnotes import Footnote, list_footnotes
from gleaner.api.protocols.model_names import ModelName
from gleaner.api.schemas import AnswerCost, ChatAnswer, Source, to_chat_answer
from gleaner.guards.answer_text import find_marks

Absolute = Callable[[str], str]  # the URL of a path of the API


class UrlCitation(BaseModel):
    """A source, and where the text cites it."""

    start_index: int = Field(description="Where the mark in the text begins, in Unicode code points from 0.")
    end_index: int = Field(description="Where it ends: the index after its last character.")
    title: str
    url: str = Field(description="Where the source is read: its page, or else the passage in this service.")


class Annotation(BaseModel):
    """A citation."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class CompletionMessage(BaseModel):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    """The only choice."""

    index: Literal[0] = 0
    message: CompletionMessage
    logprobs: None = None
    finish_reason: Literal["stop", "length"]


class PromptTokensDetails(BaseModel):
    """Of the tokens of the prompt."""

    cached_tokens: int


class Usage(BaseModel):
    """The tokens of all calls of the model for this answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails


class ChatCompletion(BaseModel):
    """The answer to a question."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int = Field(description="When the answer was complete, in seconds since 1970.")
    model: str
    choices: list[Choice] = Field(min_length=1, max_length=1)
    usage: Usage
    gleaner: ChatAnswer | None = Field(
        description="The answer as POST /api/chat/query gives it; null from gleaner-plain."
    )


def completion_id(query_id: str) -> str:
    """The id of a completion."""
    return f"chatcmpl-{query_id}"


def to_completion(answer: Answer, model: ModelName, name: str, *, absolute: Absolute) -> ChatCompletion:
    """Convert an answer. `name` is the model as the client wrote it."""
    whole = to_chat_answer(answer)
    notes = [Footnote(source.id, _label(source), _url_of(source, absolute)) for source in whole.sources]
    content = whole.answer + (list_footnotes(notes) if model.has_footnotes else "")
    annotations = list(_annotate(whole, absolute))
    return make_completion(
        answer.query_id, name, content, annotations=annotations, cost=whole.cost, at=answer.created_at, whole=whole
    )


def make_completion(
    query_id: str,
    name: str,
    content: str,
    *,
    annotations: list[Annotation],
    cost: AnswerCost,
    at: datetime,
    whole: ChatAnswer | None = None,
    is_cut_off: bool = False,
) -> ChatCompletion:
    """A completion of this text."""
    message = CompletionMessage(content=content, annotations=annotations)
    return ChatCompletion(
        id=completion_id(query_id),
        created=int(at.timestamp()),
        model=name,
        choices=[Choice(message=message, finish_reason="length" if is_cut_off else "stop")],
        usage=Usage(
            prompt_tokens=cost.input_tokens,
            completion_tokens=cost.output_tokens,
            total_tokens=cost.input_tokens + cost.output_tokens,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=cost.cached_input_tokens),
        ),
        gleaner=whole,
    )


def _annotate(answer: ChatAnswer, absolute: Absolute) -> Iterator[Annotation]:
    """A citation for each mark in the text, in its order, and at its end for the sources that it does not mark."""
    sources = {source.id: source for source in answer.sources}
    marks = [mark for mark in find_marks(answer.answer) if mark.id in sources]
    marked_ids = {mark.id for mark in marks}
    spans = [(mark.start, mark.end, mark.id) for mark in marks]
    spans += [(len(answer.answer),) * 2 + (source_id,) for source_id in sources if source_id not in marked_ids]
    for start, end, source_id in spans:
        source = sources[source_id]
        if url := _url_of(source, absolute):
            citation = UrlCitation(start_index=start, end_index=end, title=_label(source), url=url)
            yield Annotation(url_citation=citation)


def _label(source: Source) -> str:
    return label_passage(source.title, source.chapter)


def _url_of(source: Source, absolute: Absolute) -> str | None:
    """The page of a source, or else the address of its passage; None if neither is known."""
    return source.source_url or (absolute(source.passage_url) if source.passage_url else None)
