"""Chat completion requests as the local model accepts them, and errors for those that it rejects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gleaner_local.servers._json_api import ApiError, parse_body


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextPart(_Strict):
    """A part of a message's content."""

    type: Literal["text"]
    text: str


Content = str | list[TextPart]


class EarlierFunction(_Strict):
    """The function of an earlier call."""

    name: str
    arguments: str


class EarlierCall(_Strict):
    """A call in an assistant message."""

    id: str = Field(min_length=1)
    type: Literal["function"]
    function: EarlierFunction


class InstructionMessage(_Strict):
    """A system or developer message."""

    role: Literal["system", "developer"]
    content: Content
    name: str | None = None


class UserMessage(_Strict):
    """A user message."""

    role: Literal["user"]
    content: Content
    name: str | None = None


class AssistantMessage(_Strict):
    """An assistant message: text, calls, or both."""

    role: Literal["assistant"]
    content: Content | None = None
    refusal: str | None = None
    name: str | None = None
    tool_calls: Annotated[list[EarlierCall], Field(min_length=1)] | None = None


class ToolMessage(_Strict):
    """The result of one call."""

    role: Literal["tool"]
    content: Content
    tool_call_id: str


ChatMessage = Annotated[InstructionMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class FunctionDefinition(_Strict):
    """A function that the model may call."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(_Strict):
    """A tool that the model may call."""

    type: Literal["function"]
    function: FunctionDefinition


class FunctionName(_Strict):
    """The name of the function that the model must call."""

    name: str


class ForcedFunction(_Strict):
    """A tool_choice that names a function."""

    type: Literal["function"]
    function: FunctionName


class StreamOptions(_Strict):
    """What is sent with a stream. Obfuscation is padding against listeners, which there are none of here."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatRequest(_Strict):
    """A request for one completion. The fields after `n` are accepted but ignored."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    tools: Annotated[list[Tool], Field(min_length=1, max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ForcedFunction | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    max_completion_tokens: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    seed: int | None = None
    user: str | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    reasoning_effort: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None

    def allowed_functions(self) -> list[str]:
        """The names of the functions that may be called, narrowed by tool_choice."""
        names = [tool.function.name for tool in self.tools or ()]
        if isinstance(self.tool_choice, ForcedFunction):
            return [self.tool_choice.function.name]
        return [] if self.tool_choice == "none" else names


def read_request(body: bytes, *, model: str) -> ChatRequest:
    """Parse and check the request in `body`. Raises ApiError (400; 404 for a model other than `model`)."""
    return check_request(parse_body(ChatRequest, body), model=model)


def check_request(request: ChatRequest, *, model: str) -> ChatRequest:
    """Return the request if it can be served. Raises ApiError like `read_request`."""
    if request.model != model:
        raise ApiError(
            f"The model '{request.model}' does not exist here; this server offers '{model}'.",
            status=404,
            code="model_not_found",
        )
    if request.stream_options and not request.stream:
        raise ApiError(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
        )
    if request.n not in (None, 1):
        raise ApiError("Only one choice is supported here.", code="unsupported_value", param="n")
    _check_tool_choice(request)
    _check_tool_messages(request.messages)
    return request


def messages_as_json(request: ChatRequest) -> list[dict[str, Any]]:
    """The messages as plain JSON objects."""
    messages: list[dict[str, Any]] = TypeAdapter(list[ChatMessage]).dump_python(request.messages, mode="json")
    return messages


def _check_tool_choice(request: ChatRequest) -> None:
    if request.tool_choice is None:
        return
    if not request.tools:
        raise ApiError("'tool_choice' is only allowed when 'tools' are specified.", param="tool_choice")
    names = {tool.function.name for tool in request.tools}
    if isinstance(request.tool_choice, ForcedFunction) and request.tool_choice.function.name not in names:
        raise ApiError("tool_choice names a function that is not among the tools.", param="tool_choice")


def _check_tool_messages(messages: Sequence[ChatMessage]) -> None:
    """Every call must be answered exactly once, right after the assistant message that made it."""
    open_calls: set[str] = set()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise ApiError(
                    "A message with role 'tool' must answer a call of the preceding message with 'tool_calls', "
                    "and each call only once.",
                    param=f"messages.[{position}].role",
                )
            open_calls.remove(message.tool_call_id)
            continue
        _require_no_open_calls(open_calls, position)
        if isinstance(message, AssistantMessage):
            if message.content is None and not message.tool_calls and message.refusal is None:
                raise ApiError("An assistant message needs content or tool_calls.", param=f"messages.[{position}]")
            ids = [call.id for call in message.tool_calls or ()]
            open_calls = set(ids)
            if len(open_calls) < len(ids):
                raise ApiError("Two tool calls have the same id.", param=f"messages.[{position}].tool_calls")
    _require_no_open_calls(open_calls, len(messages))


def _require_no_open_calls(open_calls: set[str], position: int) -> None:
    if open_calls:
        raise ApiError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. These had no response: {', '.join(sorted(open_calls))}",
            param=f"messages.[{position}].role",
        )
