"""Requests and answers of the chat completions API, as OpenAI and providers that are compatible with it speak it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from gleaner.clients._constrained_calls import CONSTRAINED, as_plain_messages, read_call, response_format
from gleaner.clients._content_filters import is_refused
from gleaner.clients._dialect import Dialect, Forcing
from gleaner.clients._json_values import (
    arguments_text,
    as_list,
    as_model_name,
    as_object,
    as_string,
    replayed_arguments,
)
from gleaner.clients._model_request import ModelRequest, read_error
from gleaner.clients._token_usage import read_usage
from gleaner.clients._tool_names import read_name, replayed_name
from gleaner.model import ChatMessage, JsonObject, ModelTurn, ToolCall, ToolSpec

PATH = "/chat/completions"
STREAM_FIELDS: JsonObject = {"stream": True, "stream_options": {"include_usage": True}}
_ID_CHARACTERS = 9  # exactly so many letters and digits: the only form that Mistral accepts

# Fields of an answer that some providers demand back in the next request, unchanged: of its message
# (DeepSeek's thinking models; OpenRouter) and of its calls (Gemini's thought signatures).
_OPAQUE_OF_MESSAGE = ("reasoning_content", "reasoning_details")
_OPAQUE_OF_CALL = "extra_content"


def to_body(request: ModelRequest, dialect: Dialect) -> JsonObject:
    """The request body without the model's name. Only the tools that may be called now are offered."""
    body: JsonObject = {}
    if request.callable_tools and dialect.forcing is Forcing.SCHEMA:
        body["messages"] = [_to_wire(message, dialect) for message in as_plain_messages(request)]
        body["response_format"] = response_format(request.callable_tools)
    else:
        body["messages"] = [_to_wire(message, dialect) for message in request.messages]
    if request.callable_tools and dialect.forcing is not Forcing.SCHEMA:
        body["tools"] = [_tool_to_wire(tool) for tool in request.callable_tools]
        # A function is never named: with one tool on offer it is the same, and some servers ignore an object here.
        body["tool_choice"] = dialect.forcing.value
    if dialect.output_limits:
        body[dialect.output_limits[0]] = request.max_output_tokens
    if dialect.effort is not None:
        body["reasoning_effort"] = dialect.effort
    return body


def read_turn(answer: JsonObject, request: ModelRequest, dialect: Dialect) -> ModelTurn:
    """The turn in a 200 answer. A part that is missing or of a wrong type is as good as empty.

    Providers leave fields out and send other types. The loop asks again for what is then missing.
    Raises UnreadableAnswer, or AnswerRefused for an error of a content filter under status 200.
    """
    choice = _choice(answer)
    message = as_object(choice.get("message"))
    calls, opaque_calls = _to_calls(message.get("tool_calls"), request.tools)
    content, reason = as_string(message.get("content")), as_string(choice.get("finish_reason"))
    if not calls and (error := answer.get("error") or choice.get("error")):
        raise read_error(error)
    opaque: Any = _opaque(message, opaque_calls)
    if (
        not calls
        and request.callable_tools
        and dialect.forcing is Forcing.SCHEMA
        and (call := read_call(content, request.callable_tools, call_id=_new_id()))
    ):
        calls, content, opaque = (call,), "", CONSTRAINED
    return ModelTurn(
        tool_calls=calls,
        content=content,
        finish_reason=reason,
        model=as_model_name(answer.get("model")),
        opaque=opaque,
        usage=read_usage(as_object(answer.get("usage")), input_name="prompt_tokens", output_name="completion_tokens"),
        is_refused=is_refused(calls, reason, has_refusal=_has_refusal(message)),
    )


def _choice(answer: JsonObject) -> JsonObject:
    choices = answer.get("choices")
    if not isinstance(choices, list):
        raise read_error(answer.get("error"))
    return as_object(choices[0]) if choices else {}


def _has_refusal(message: JsonObject) -> bool:
    parts = map(as_object, as_list(message.get("content")))  # some providers send the content in parts
    return any(as_string(part.get("refusal")).strip() for part in (message, *parts))


def _to_wire(message: ChatMessage, dialect: Dialect) -> JsonObject:
    wire: JsonObject = {"role": message.role, "content": message.content}
    opaque = as_object(message.opaque)
    wire |= {name: value for name, value in as_object(opaque.get("message")).items() if dialect.sends(name)}
    if message.tool_calls:
        extras = as_list(opaque.get("calls")) if dialect.sends(_OPAQUE_OF_CALL) else []
        wire["tool_calls"] = [
            _call_to_wire(call, extras[position] if position < len(extras) else {})
            for position, call in enumerate(message.tool_calls)
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _call_to_wire(call: ToolCall, extra: JsonObject) -> JsonObject:
    function = {"name": replayed_name(call.name), "arguments": replayed_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function} | extra


def _tool_to_wire(tool: ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _to_calls(value: object, tools: Sequence[ToolSpec]) -> tuple[tuple[ToolCall, ...], list[JsonObject]]:
    """The function calls, each with an id of its own (some providers omit or repeat ids), and their opaque fields."""
    ids: set[str] = set()
    calls, extras = [], []
    for call in map(as_object, as_list(value)):
        function = as_object(call.get("function"))
        if (call.get("type") or "function") != "function" or not function:
            continue
        call_id = as_string(call.get("id"))
        if not call_id or call_id in ids:
            call_id = _new_id()
        ids.add(call_id)
        arguments = arguments_text(function.get("arguments"))
        calls.append(ToolCall(id=call_id, name=read_name(as_string(function.get("name")), tools), arguments=arguments))
        extras.append({_OPAQUE_OF_CALL: call[_OPAQUE_OF_CALL]} if call.get(_OPAQUE_OF_CALL) else {})
    return tuple(calls), extras


def _new_id() -> str:
    return secrets.token_hex(_ID_CHARACTERS)[:_ID_CHARACTERS]


def _opaque(message: JsonObject, calls: Sequence[JsonObject]) -> JsonObject | None:
    kept = {name: message[name] for name in _OPAQUE_OF_MESSAGE if message.get(name)}
    return {"message": kept, "calls": list(calls)} if kept or any(calls) else None
