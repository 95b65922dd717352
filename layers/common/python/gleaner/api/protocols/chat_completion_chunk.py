"""The chunks of a chat completion that streams, for the description of the API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from gleaner.api.protocols.chat_completion import Annotation, Usage
from gleaner.api.protocols.openai_errors import ErrorResponse
from gleaner.api.schemas import ChatAnswer
from gleaner.model import JsonObject


def _drop_default(schema: JsonObject) -> None:
    """A field that may be missing is never null."""
    del schema["default"]


_MAY_BE_MISSING: Any = Field(default=None, json_schema_extra=_drop_default)


class ChunkDelta(BaseModel):
    """What a chunk adds to the answer."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["assistant"] = _MAY_BE_MISSING
    content: str = Field(default="", description="The next words. They have been checked.")
    refusal: None = None
    annotations: list[Annotation] = _MAY_BE_MISSING


class ChunkChoice(BaseModel):
    """The only choice of a chunk."""

    model_config = ConfigDict(extra="forbid")

    index: Literal[0]
    delta: ChunkDelta
    logprobs: None
    finish_reason: Literal["stop", "length"] | None


class ChatCompletionChunk(BaseModel):
    """A piece of a chat completion."""

    model_config = ConfigDict(extra="forbid")

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice] = Field(description="Empty in the chunk with the usage.")
    usage: Usage | None = Field(default=None, description="Only where stream_options.include_usage asks for it.")
    gleaner: ChatAnswer | None = Field(default=None, description="The whole answer, in the last chunk.")


class CompletionEvent(RootModel[ChatCompletionChunk | ErrorResponse]):
    """The data of one event: a chunk, or the error that ended the question."""
