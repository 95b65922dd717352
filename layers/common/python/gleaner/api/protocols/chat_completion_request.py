"""The body of a chat completion: which of OpenAI's fields are used, which are refused, and which are ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationInfo, field_validator

from gleaner.api.protocols.chat_messages import ChatMessageParam, check_messages
from gleaner.api.protocols.model_names import MAX_MODEL_NAME
from gleaner.api.schemas import SessionId

_OWN_TOOLS = "must be auto or none, because Gleaner calls its own tools only"
_TEXT_ALONE = "must be text alone, because an answer of Gleaner is nothing else"
_NO_TOKENS = "must be left out, because an answer is checked text, and not the tokens of a model"
_NO_FORMAT = (
    "must be of the type text, because an answer cites its sources in its text and has no JSON form; the field gleaner "
    "of the response holds answer and sources as JSON"
)


def _is_forced(choice: Any) -> bool:
    """Whether a tool must be called: `required`, a named one, or one of those that are allowed."""
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = choice.get("allowed_tools")
        return not isinstance(allowed, dict) or allowed.get("mode") == "required"
    return choice not in ("auto", "none")


def _is_format(value: Any) -> bool:
    return not isinstance(value, dict) or value.get("type") != "text"


# Which values are refused, and why: a client must not believe that it got what it asked for.
REFUSED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "audio": (bool, _TEXT_ALONE),
    "function_call": (_is_forced, _OWN_TOOLS),
    "logprobs": (bool, _NO_TOKENS),
    "modalities": (lambda value: value not in (["text"], []), _TEXT_ALONE),
    "moderation": (bool, "must be left out, because Gleaner has checks of its own"),
    "n": (lambda value: value != 1, "must be 1, because a question has one answer"),
    "response_format": (_is_format, _NO_FORMAT),
    "tool_choice": (_is_forced, _OWN_TOOLS),
    "top_logprobs": (bool, _NO_TOKENS),
}
# What only tunes how a model writes, caches, bills or keeps: the service decides that itself. Fields that are not
# OpenAI's are ignored as well, because clients send fields of other providers to every one.
IGNORED = frozenset(
    {
        *("max_completion_tokens", "max_tokens", "stop", "verbosity", "reasoning_effort", "prediction", "seed"),
        *("temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"),
        *("functions", "tools", "parallel_tool_calls", "web_search_options"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "store"),
        *("safety_identifier", "user"),
    }
)


def _checked(name: str) -> Any:
    return Field(None, exclude=True, description=f"It {REFUSED[name][1]}.")


class StreamOptions(BaseModel):
    """How a stream is sent."""

    include_usage: StrictBool | None = Field(None, description="Ends with a chunk that has the usage, and no choices.")


class CompletionMetadata(BaseModel):
    """Of the metadata, only the session is used."""

    session_id: SessionId | None = Field(
        None,
        description="A session of yours: its stored turns are the history, instead of the earlier messages, and this "
        "turn is stored in it.",
    )


class CompletionRequest(BaseModel):
    """A question as OpenAI's clients ask it. Fields that are not listed are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_NAME, description="One of GET /v1/models.")]
    messages: Annotated[list[ChatMessageParam], Field(min_length=1)] = Field(
        description="The conversation. The last message must be the user's question; messages of the system and the "
        "developer may stand anywhere, and those of tools are ignored."
    )
    metadata: CompletionMetadata | None = None
    # How the answer is sent is no part of the question: whoever repeats it with the same Idempotency-Key may change it.
    stream: StrictBool | None = Field(False, exclude=True)
    stream_options: StreamOptions | None = Field(None, exclude=True)

    audio: Any = _checked("audio")
    function_call: Any = _checked("function_call")
    logprobs: Any = _checked("logprobs")
    modalities: Any = _checked("modalities")
    moderation: Any = _checked("moderation")
    n: Any = _checked("n")
    response_format: Any = _checked("response_format")
    tool_choice: Any = _checked("tool_choice")
    top_logprobs: Any = _checked("top_logprobs")

    @field_validator(*REFUSED, mode="before")
    @classmethod
    def _refuse(cls, value: Any, info: ValidationInfo) -> None:
        is_refused, reason = REFUSED[info.field_name or ""]
        if value is not None and is_refused(value):
            raise ValueError(reason)

    @field_validator("messages")
    @classmethod
    def _require_question(cls, messages: list[ChatMessageParam]) -> list[ChatMessageParam]:
        return check_messages(messages)

    @property
    def session_id(self) -> str | None:
        """The session that the question belongs to, if it is to be kept."""
        return self.metadata.session_id if self.metadata else None
