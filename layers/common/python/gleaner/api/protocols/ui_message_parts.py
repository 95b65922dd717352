"""The parts of a UI message stream, for the description of the API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from gleaner.answering.steps import Step
from gleaner.api.messages import TurnAnswer
from gleaner.api.problems import Problem
from gleaner.api.schemas import ChatAnswer, Source
from gleaner.model import JsonObject, SourceType


def _drop_default(schema: JsonObject) -> None:
    """A field that may be missing is never null."""
    del schema["default"]


_MAY_BE_MISSING: Any = Field(default=None, json_schema_extra=_drop_default)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StreamMetadata(_Part):
    """The ids of the question."""

    query_id: str
    session_id: str


class StartPart(_Part):
    """The question is valid. `messageId` is the id under which the answer will be stored."""

    type: Literal["start"]
    messageId: str
    messageMetadata: StreamMetadata


class StepBoundaryPart(_Part):
    """The agent begins or ends a step."""

    type: Literal["start-step", "finish-step"]


class StepName(_Part):
    """What the agent does now."""

    step: Step


class StepPart(_Part):
    """The name of a step."""

    type: Literal["data-gleaner-step"]
    data: StepName


class ToolInputPart(_Part):
    """A tool is called. The input of an answer is empty: its text is sent once it is checked."""

    type: Literal["tool-input-available"]
    toolCallId: str
    toolName: str
    input: dict[str, Any]
    dynamic: Literal[True]
    providerExecuted: Literal[True]


class ToolOutputPart(_Part):
    """A tool has finished. The output holds ids, counts and, of a web search, its price where it is known."""

    type: Literal["tool-output-available"]
    toolCallId: str
    output: dict[str, Any]
    dynamic: Literal[True]
    providerExecuted: Literal[True]


class ToolErrorPart(_Part):
    """A tool has failed, or its call was refused."""

    type: Literal["tool-output-error"]
    toolCallId: str
    errorText: str
    dynamic: Literal[True]
    providerExecuted: Literal[True]


class FoundPassage(_Part):
    """A passage that the answer may cite by its id."""

    id: str
    source_type: SourceType
    title: str
    chapter: str | None
    source_file_path: str | None
    source_url: str | None
    page_number: int | None
    page_label: str | None


class PassagesPart(_Part):
    """Passages that a search found for the first time in this question."""

    type: Literal["data-gleaner-passages"]
    data: list[FoundPassage]


class TextStartPart(_Part):
    """An answer begins."""

    type: Literal["text-start"]
    id: str


class TextDeltaPart(_Part):
    """The next words of an answer. They have been checked."""

    type: Literal["text-delta"]
    id: str
    delta: str


class WithdrawnMark(_Part):
    """The text does not count."""

    withdrawn: Literal[True]


class WithdrawnMetadata(_Part):
    """Marks a text that does not count."""

    gleaner: WithdrawnMark


class TextEndPart(_Part):
    """An answer ends. With the mark `withdrawn`, it does not count: another one follows, or a problem."""

    type: Literal["text-end"]
    id: str
    providerMetadata: WithdrawnMetadata = _MAY_BE_MISSING


class SourceMetadata(_Part):
    """The source as the answer holds it."""

    gleaner: Source


class SourceUrlPart(_Part):
    """A source of the answer that has an address."""

    type: Literal["source-url"]
    sourceId: str
    url: str
    title: str
    providerMetadata: SourceMetadata


class SourceDocumentPart(_Part):
    """A source of the answer that has no address."""

    type: Literal["source-document"]
    sourceId: str
    mediaType: str
    title: str
    filename: str = _MAY_BE_MISSING
    providerMetadata: SourceMetadata


class AnswerPart(_Part):
    """The answer: the JSON of the route that does not stream."""

    type: Literal["data-gleaner-answer"]
    data: ChatAnswer | TurnAnswer


class ProblemPart(_Part):
    """The problem that ended the question."""

    type: Literal["data-gleaner-problem"]
    data: Problem


class ErrorPart(_Part):
    """The detail of the problem; clients of the AI SDK end here."""

    type: Literal["error"]
    errorText: str


class FinishPart(_Part):
    """Nothing follows but `[DONE]`."""

    type: Literal["finish"]


class UiMessagePart(
    RootModel[
        StartPart
        | StepBoundaryPart
        | StepPart
        | ToolInputPart
        | ToolOutputPart
        | ToolErrorPart
        | PassagesPart
        | TextStartPart
        | TextDeltaPart
        | TextEndPart
        | SourceUrlPart
        | SourceDocumentPart
        | AnswerPart
        | ProblemPart
        | ErrorPart
        | FinishPart
    ]
):
    """One part of the stream."""
