"""The language model, over OpenAI chat completions with tools."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from gleaner.clients._chat_completion import NotACompletion, read_turn
from gleaner.clients._openai_sdk import openai
from gleaner.clients._retry_after import asked_wait
from gleaner.clients._tls import tls_context
from gleaner.clients.time_limit import run_within
from gleaner.errors import ContextTooLong, DeadlineExceeded, GleanerError, ModelUnavailable, ToolChoiceRefused
from gleaner.model import ChatMessage, ModelTurn, ToolSpec
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries

logger = logging.getLogger(__name__)

_LONGEST_REQUEST_SECONDS = 60.0  # the deadline is shorter wherever an API Gateway waits

_PASSING_STATUSES = frozenset((408, 409, 429, *range(500, 600)))
_REFUSALS = frozenset((400, 404, 413, 422))  # of this very request; providers choose among them freely
_PAUSE_SECONDS = 0.3  # before the next try when the service asks for none
_LATE = "The language model did not answer in time."

# How services say that a conversation is too long. There is a code for it, which many do not send.
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")
_LONGEST_SHOWN = 500  # characters of arguments that were no object, as the model sees them again

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
        seconds = deadline.timeout(_LONGEST_REQUEST_SECONDS)
        body = {
            "model": self._model,
            "messages": messages,
            "tools": tools,
            "tool_choice": _tool_choice(tools, strength),
            "max_completion_tokens": self._max_completion_tokens,
        }
        # By its path: `chat.completions.create` walks through all of the body in search of names to translate, of
        # which there are none, for a third of the CPU time of a question.
        post = partial(self._client.post, "/chat/completions", cast_to=bytes, body=body, options={"timeout": seconds})
        try:
            # The SDK bounds each wait, not their sum: a service that drips could go beyond any deadline.
            return read_turn(run_within(seconds, post))
        except TimeoutError:
            raise DeadlineExceeded(_LATE) from None
        except openai.APIStatusError as error:
            if error.status_code in _REFUSALS:
                raise _translated_refusal(error, strength) from error
            raise


def _tool_choice(tools: list[Any], strength: _Strength) -> Any:
    if strength == "function" and len(tools) == 1:
        return {"type": "function", "function": {"name": tools[0]["function"]["name"]}}
    return "auto" if strength == "auto" else "required"


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _tool_to_wire(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _object(arguments: str) -> str:
    """Arguments for the model to see again: as it wrote them if they are an object, else wrapped in one.

    Some services read the arguments of earlier calls and fail at any that are no JSON object.
    """
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (RecursionError, ValueError):
        pass
    return json.dumps({"unreadable": arguments[:_LONGEST_SHOWN]}, ensure_ascii=False)


def _retry_after(error: Exception) -> float | None:
    if isinstance(error, NotACompletion):
        return _PAUSE_SECONDS
    if isinstance(error, openai.APITimeoutError):
        return None  # the time of the call is used up; another would use up the rest of the query's
    if isinstance(error, openai.APIConnectionError):
        return 0.0
    if isinstance(error, openai.APIStatusError) and (error.status_code in _PASSING_STATUSES):
        asked = asked_wait(error.response.headers)
        return _PAUSE_SECONDS if asked is None else asked
    return None


def _translated_refusal(error: openai.APIStatusError, strength: _Strength) -> Exception:
    text = str(error.message).lower()
    too_large = error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if too_large or any(phrase in f"{error.code} {text}" for phrase in _TOO_LONG):
        return ContextTooLong("The conversation is too long for the language model.")
    if strength != "auto" and "tool_choice" in f"{error.param} {text}".replace(" choice", "_choice"):
        return ToolChoiceRefused("The provider refuses this tool_choice.")
    return ModelUnavailable(f"The language model refused the request ({error.status_code}).")


def _translated(error: openai.OpenAIError) -> GleanerError:
    if isinstance(error, openai.APITimeoutError):
        return DeadlineExceeded(_LATE)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("The language model refused the key.")
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("The language model is over its rate limit.")
    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"The language model failed ({error.status_code}).")
    return ModelUnavailable("The language model could not be reached.")


def connect(*, api_key: Callable[[], str], base_url: str | None, model: str, max_completion_tokens: int) -> ChatModel:
    """The model `model` of an OpenAI-compatible service; `base_url` None is OpenAI itself.

    `api_key` is asked at every request; what it raises, a request raises.
    """
    http = openai.DefaultHttpxClient(verify=tls_context())
    client = openai.OpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
    return ChatModel(client, model=model, max_completion_tokens=max_completion_tokens)
