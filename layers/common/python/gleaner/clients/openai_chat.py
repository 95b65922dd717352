"""The language model, called through OpenAI chat completions with tools."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from gleaner.clients._chat_completion import NotACompletion, read_turn
from gleaner.clients._openai_sdk import openai
from gleaner.clients._retry_after import parse_retry_after
from gleaner.clients._tls import tls_context
from gleaner.clients.time_limit import run_within
from gleaner.errors import ContextTooLong, DeadlineExceeded, GleanerError, ModelUnavailable, ToolChoiceRefused
from gleaner.model import ChatMessage, ModelTurn, ToolSpec
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries

logger = logging.getLogger(__name__)

_MAX_REQUEST_SECONDS = 60.0  # behind an API Gateway the deadline is always shorter

_TRANSIENT_STATUSES = frozenset((408, 409, 429, *range(500, 600)))
_REFUSALS = frozenset((400, 404, 413, 422))  # the request itself is refused; providers differ in which status they send
_PAUSE_SECONDS = 0.3  # before a retry, when the service sends no Retry-After
_TIMED_OUT = "The language model did not answer in time."

# Phrases for a conversation that is too long. There is an error code for it, but many services do not send it.
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")
_MAX_UNREADABLE_CHARS = 500  # how much of malformed arguments is sent back to the model

# How strictly a tool call can be demanded, strictest first. If a provider refuses one, the next is used.
_Strength = Literal["function", "required", "auto"]
_WEAKER: dict[_Strength, _Strength] = {"function": "required", "required": "auto"}


class ChatModel:
    """One language model. It remembers the strictest `tool_choice` that the provider accepts."""

    def __init__(self, client: openai.OpenAI, *, model: str, max_completion_tokens: int, attempts: int = 3) -> None:
        """`client` must not retry by itself: retries happen here, within the deadline."""
        self._client = client
        self._model = model
        self._max_completion_tokens = max_completion_tokens
        self._attempts = attempts
        self._strongest: _Strength = "function"

    def complete(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, deadline: Deadline) -> ModelTurn:
        """Request the next turn and demand a call of one of `tools`.

        Raises ModelUnavailable, ContextTooLong, or DeadlineExceeded when the model does not answer in time.
        The caller must check that the model really called a tool.
        """
        wire_messages = [_to_wire(message) for message in messages]
        wire_tools: list[Any] = [_tool_to_wire(tool) for tool in tools]
        while True:
            strength = self._strongest
            try:
                return with_retries(
                    partial(self._request, wire_messages, wire_tools, strength, deadline),
                    retry_after=_retry_delay,
                    deadline=deadline,
                    attempts=self._attempts,
                )
            except ToolChoiceRefused:
                if strength not in _WEAKER:
                    raise ModelUnavailable("The language model refuses tool calls.") from None
                logger.warning("tool_choice refused", extra={"strength": strength})
                self._strongest = _WEAKER[strength]
            except openai.OpenAIError as error:
                raise _translate_error(error) from error

    def _request(self, messages: list[Any], tools: list[Any], strength: _Strength, deadline: Deadline) -> ModelTurn:
        seconds = deadline.timeout(_MAX_REQUEST_SECONDS)
        body = {
            "model": self._model,
            "messages": messages,
            "tools": tools,
            "tool_choice": _to_tool_choice(tools, strength),
            "max_completion_tokens": self._max_completion_tokens,
        }
        # `chat.completions.create` would search the entire body for names to translate. There are none, and the
        # search takes a third of the CPU time of a question.
        post = partial(self._client.post, "/chat/completions", cast_to=bytes, body=body, options={"timeout": seconds})
        try:
            # The SDK limits each read, not the total: a service that drips bytes could exceed any deadline.
            return read_turn(run_within(seconds, post))
        except TimeoutError:
            raise DeadlineExceeded(_TIMED_OUT) from None
        except openai.APIStatusError as error:
            if error.status_code in _REFUSALS:
                raise _translate_refusal(error, strength) from error
            raise


def _to_tool_choice(tools: list[Any], strength: _Strength) -> Any:
    if strength == "function" and len(tools) == 1:
        return {"type": "function", "function": {"name": tools[0]["function"]["name"]}}
    return "auto" if strength == "auto" else "required"


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _wrap_unless_object(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _tool_to_wire(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _wrap_unless_object(arguments: str) -> str:
    """Return `arguments` unchanged if they are a JSON object, else wrapped in one.

    Some services parse the arguments of earlier calls and fail if they are not a JSON object.
    """
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (RecursionError, ValueError):
        pass
    return json.dumps({"unreadable": arguments[:_MAX_UNREADABLE_CHARS]}, ensure_ascii=False)


def _retry_delay(error: Exception) -> float | None:
    if isinstance(error, NotACompletion):
        return _PAUSE_SECONDS
    if isinstance(error, openai.APITimeoutError):
        return None  # the call used up its time; a retry would use up the rest of the query's
    if isinstance(error, openai.APIConnectionError):
        return 0.0
    if isinstance(error, openai.APIStatusError) and (error.status_code in _TRANSIENT_STATUSES):
        seconds = parse_retry_after(error.response.headers)
        return _PAUSE_SECONDS if seconds is None else seconds
    return None


def _translate_refusal(error: openai.APIStatusError, strength: _Strength) -> Exception:
    text = str(error.message).lower()
    too_large = error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if too_large or any(phrase in f"{error.code} {text}" for phrase in _TOO_LONG):
        return ContextTooLong("The conversation is too long for the language model.")
    if strength != "auto" and "tool_choice" in f"{error.param} {text}".replace(" choice", "_choice"):
        return ToolChoiceRefused("The provider refuses this tool_choice.")
    return ModelUnavailable(f"The language model refused the request ({error.status_code}).")


def _translate_error(error: openai.OpenAIError) -> GleanerError:
    if isinstance(error, openai.APITimeoutError):
        return DeadlineExceeded(_TIMED_OUT)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("The language model refused the key.")
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("The language model is over its rate limit.")
    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"The language model failed ({error.status_code}).")
    return ModelUnavailable("The language model could not be reached.")


def connect(*, api_key: Callable[[], str], base_url: str | None, model: str, max_completion_tokens: int) -> ChatModel:
    """Build a client of an OpenAI-compatible service; `base_url` None is OpenAI itself. Sends nothing yet.

    `api_key` is called for every request, which raises whatever it raises.
    """
    http = openai.DefaultHttpxClient(verify=tls_context())
    client = openai.OpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
    return ChatModel(client, model=model, max_completion_tokens=max_completion_tokens)
