"""The language model, over OpenAI chat completions with tools."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import openai
from openai.types.chat import ChatCompletion

from gleaner.deadline import Deadline
from gleaner.errors import ContextTooLong, DeadlineExceeded, GleanerError, ModelUnavailable, ToolChoiceRefused
from gleaner.model import ChatMessage, ModelTurn, TokenUsage, ToolCall, ToolSpec
from gleaner.retries import with_retries
from gleaner.text import encodable

logger = logging.getLogger(__name__)

_LONGEST_REQUEST_SECONDS = 60.0  # the deadline is shorter wherever an API Gateway waits

_PASSING_STATUSES = frozenset((408, 409, 429, *range(500, 600)))

# How hard a tool call can be asked for, strongest first. Providers that refuse one are asked with the next.
_Strength = Literal["function", "required", "auto"]
_WEAKER: dict[_Strength, _Strength] = {"function": "required", "required": "auto"}


class ChatModel:
    """One language model. It remembers how strongly this provider lets a tool call be asked for."""

    def __init__(self, client: openai.OpenAI, *, model: str, max_completion_tokens: int, attempts: int = 3) -> None:
        """`client` must not retry by itself: retries are held inside the deadline here."""
        self._client = client
        self._model = model
        self._max_completion_tokens = max_completion_tokens
        self._attempts = attempts
        self._strongest: _Strength = "function"

    def complete(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, deadline: Deadline) -> ModelTurn:
        """Ask for the next turn; one of `tools` must be called (the one, when there is only one).

        Raises ModelUnavailable, ContextTooLong, or DeadlineExceeded when the model does not answer in time.
        That it really called a tool is for the caller to check.
        """
        wire_messages = [_to_wire(message) for message in messages]
        wire_tools: list[Any] = [_tool_to_wire(tool) for tool in tools]
        while True:
            strength = self._strongest
            try:
                return with_retries(
                    partial(self._request, wire_messages, wire_tools, strength, deadline),
                    retry_after=_retry_after,
                    deadline=deadline,
                    attempts=self._attempts,
                )
            except ToolChoiceRefused:
                if strength not in _WEAKER:
                    raise ModelUnavailable("The language model refuses tool calls.") from None
                logger.warning("tool_choice refused", extra={"strength": strength})
                self._strongest = _WEAKER[strength]
            except openai.OpenAIError as error:
                raise _translated(error) from error

    def _request(self, messages: list[Any], tools: list[Any], strength: _Strength, deadline: Deadline) -> ModelTurn:
        try:
            completion = self._client.chat.completions.create(
                model=self._model,
                messages=messages,
                tools=tools,
                tool_choice=_tool_choice(tools, strength),
                max_completion_tokens=self._max_completion_tokens,
                timeout=deadline.timeout(_LONGEST_REQUEST_SECONDS),
            )
        except openai.BadRequestError as error:
            raise _translated_bad_request(error, strength) from error
        return _to_turn(completion)


def _tool_choice(tools: list[Any], strength: _Strength) -> Any:
    if strength == "function" and len(tools) == 1:
        return {"type": "function", "function": {"name": tools[0]["function"]["name"]}}
    return "auto" if strength == "auto" else "required"


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _tool_to_wire(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _to_turn(completion: ChatCompletion) -> ModelTurn:
    # The SDK does not validate answers: a provider may send text, or an error object under status 200.
    if not isinstance(completion, ChatCompletion) or completion.choices is None:
        raise ModelUnavailable("The language model sent no completion.")
    usage = _to_usage(completion)
    model = completion.model or ""
    if not completion.choices or completion.choices[0].message is None:
        return ModelTurn(tool_calls=(), content="", finish_reason="empty", model=model, usage=usage)
    choice = completion.choices[0]
    return ModelTurn(
        tool_calls=_to_calls(choice.message.tool_calls or []),
        content=encodable(choice.message.content or choice.message.refusal or ""),
        finish_reason=choice.finish_reason or "",
        model=model,
        usage=usage,
    )


def _to_calls(calls: Sequence[Any]) -> tuple[ToolCall, ...]:
    """The function calls, each with an id of its own: some providers leave ids out or repeat them."""
    seen: set[str] = set()
    result = []
    for position, call in enumerate(calls):
        if call.type != "function" or call.function is None:
            continue
        call_id = call.id if call.id and call.id not in seen else f"call_{position}_{len(seen)}"
        seen.add(call_id)
        name, arguments = encodable(call.function.name or ""), encodable(call.function.arguments or "")
        result.append(ToolCall(id=encodable(call_id), name=name, arguments=arguments))
    return tuple(result)


def _to_usage(completion: ChatCompletion) -> TokenUsage:
    if completion.usage is None:
        return TokenUsage()
    details = completion.usage.prompt_tokens_details
    return TokenUsage(
        input_tokens=completion.usage.prompt_tokens or 0,
        cached_input_tokens=(details.cached_tokens or 0) if details else 0,
        output_tokens=completion.usage.completion_tokens or 0,
    )


def _retry_after(error: Exception) -> float | None:
    if isinstance(error, openai.APITimeoutError):
        return None  # the time of the call is used up; another would use up the rest of the query's
    if isinstance(error, openai.APIConnectionError):
        return 0.0
    if isinstance(error, openai.APIStatusError) and (error.status_code in _PASSING_STATUSES):
        asked = error.response.headers.get("retry-after", "")
        return float(asked) if asked.isdigit() else 0.0
    return None


def _translated_bad_request(error: openai.BadRequestError, strength: _Strength) -> Exception:
    text = str(error.message).lower()
    if error.code == "context_length_exceeded" or "context length" in text or "too many tokens" in text:
        return ContextTooLong("The conversation is too long for the language model.")
    if strength != "auto" and "tool_choice" in f"{error.param} {text}":
        return ToolChoiceRefused("The provider refuses this tool_choice.")
    return ModelUnavailable("The language model refused the request (400).")


def _translated(error: openai.OpenAIError) -> GleanerError:
    if isinstance(error, openai.APITimeoutError):
        return DeadlineExceeded("The language model did not answer in time.")
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("The language model refused the key.")
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("The language model is over its rate limit.")
    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"The language model failed ({error.status_code}).")
    return ModelUnavailable("The language model could not be reached.")


def connect(*, api_key: str, base_url: str | None, model: str, max_completion_tokens: int) -> ChatModel:
    """The model `model` of an OpenAI-compatible service; `base_url` None is OpenAI itself."""
    client = openai.OpenAI(api_key=api_key, base_url=base_url, max_retries=0)
    return ChatModel(client, model=model, max_completion_tokens=max_completion_tokens)
