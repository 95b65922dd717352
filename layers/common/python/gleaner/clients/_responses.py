"""Requests and answers of OpenAI's Responses API, used without any state at the provider."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from gleaner.clients._content_filters import is_refused
from gleaner.clients._dialect import REPLAYED_ITEMS, Dialect, Forcing
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
from gleaner.model import ChatMessage, JsonObject, ModelTurn, ToolCall, ToolSpec, new_id

PATH = "/responses"
STREAM_FIELDS: JsonObject = {"stream": True}
_KNOWN_ITEMS = ("reasoning", "function_call", "message")  # of an output; the next request takes these back
# Models from gpt-5.6 on reuse a beginning that several questions share only up to such a mark, which neither
# `instructions` nor tools can carry (OpenAI's guide to prompt caching, 2026-11).
_CACHE_MARK: JsonObject = {
    "role": "developer",
    "content": [
        {
            "type": "input_text",
            "text": "The conversation begins here.",
            "prompt_cache_breakpoint": {"mode": "explicit"},
        }
    ],
}
# The names that chat completions use, since the loop knows one vocabulary.
_FINISH_REASONS = {"max_output_tokens": "length"}


def to_body(request: ModelRequest, dialect: Dialect) -> JsonObject:
    """The request body without the model's name.

    All tools are offered in every request, and `tool_choice` says which of them may be called: the provider caches
    the beginning of a request, and the list of tools is part of it.
    """
    system, items = _instructions(request.messages), _input_items(request.messages, dialect)
    if request.tools and dialect.sends("prompt_cache_breakpoint"):  # a plain text shares too little to be cached
        items.insert(0, _CACHE_MARK)
    offered = request.tools if dialect.forcing is Forcing.ALLOWED else request.callable_tools
    optional: JsonObject = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": _cache_key(system, request.tools),
    }
    if dialect.effort is not None:
        optional["reasoning"] = {"effort": dialect.effort}
    body: JsonObject = {"instructions": system, "input": items}
    if offered:
        body["tools"] = [_tool_to_wire(tool) for tool in offered]
        body["tool_choice"] = _tool_choice(request, dialect.forcing)
    if dialect.output_limits:
        body[dialect.output_limits[0]] = request.max_output_tokens
    return body | {name: value for name, value in optional.items() if dialect.sends(name)}


def read_turn(answer: JsonObject, request: ModelRequest, _dialect: Dialect) -> ModelTurn:
    """The turn in a 200 answer. A part that is missing or of a wrong type is as good as empty.

    Raises UnreadableAnswer, also for a response that failed under status 200, or AnswerRefused if it failed because
    of a content filter.
    """
    if not isinstance(answer.get("output"), list):
        raise read_error(answer.get("error"))
    items = [item for item in map(as_object, answer["output"]) if item.get("type") in _KNOWN_ITEMS]
    calls = _to_calls(items, request.tools)
    if not calls and (answer.get("error") or answer.get("status") in ("failed", "cancelled")):
        raise read_error(answer.get("error"))
    cut_off = as_string(as_object(answer.get("incomplete_details")).get("reason"))
    reason = _FINISH_REASONS.get(cut_off, cut_off) if answer.get("status") == "incomplete" else "stop"
    return ModelTurn(
        tool_calls=calls,
        content="\n".join(filter(None, map(_text, items))),
        finish_reason=reason,
        model=as_model_name(answer.get("model")),
        opaque=items or None,
        usage=read_usage(as_object(answer.get("usage")), input_name="input_tokens", output_name="output_tokens"),
        is_refused=is_refused(calls, reason, has_refusal=any(map(_has_refusal, items))),
    )


def _instructions(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(message.content for message in messages if message.role == "system")


def _input_items(messages: Sequence[ChatMessage], dialect: Dialect) -> list[JsonObject]:
    items: list[JsonObject] = []
    for message in messages:
        if message.role == "tool":
            output = {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
            items.append(output)
        elif message.role == "assistant":
            # An earlier turn may have come by chat completions.
            replayed = isinstance(message.opaque, list) and dialect.sends(REPLAYED_ITEMS)
            items += _replay(message) if replayed else _from_fields(message)
        elif message.role == "user":
            items.append({"role": "user", "content": message.content})
    return items


def _replay(message: ChatMessage) -> list[JsonObject]:
    """The output items of an earlier turn as they came.

    Ids and arguments of calls are those that the loop works with. The API refuses reasoning that it cannot decrypt,
    and reasoning that was cut off, so that nothing follows it.
    """
    calls = iter(message.tool_calls)
    items = [
        item | _call_fields(next(calls)) if item.get("type") == "function_call" else item
        for item in message.opaque
        if item.get("type") != "reasoning" or item.get("encrypted_content")
    ]
    while items and items[-1].get("type") == "reasoning":
        del items[-1]
    return items


def _from_fields(message: ChatMessage) -> Iterator[JsonObject]:
    if message.content:
        yield {"role": "assistant", "content": message.content}
    for call in message.tool_calls:
        yield {"type": "function_call"} | _call_fields(call)


def _call_fields(call: ToolCall) -> JsonObject:
    return {"call_id": call.id, "name": replayed_name(call.name), "arguments": replayed_arguments(call.arguments)}


def _tool_to_wire(tool: ToolSpec) -> JsonObject:
    # Without `strict` the API would demand a schema in which every property is required.
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "strict": False} | function


def _tool_choice(request: ModelRequest, forcing: Forcing) -> Any:
    if forcing is not Forcing.ALLOWED:
        return forcing.value
    names = [{"type": "function", "name": tool.name} for tool in request.callable_tools]
    return names[0] if len(names) == 1 else {"type": "allowed_tools", "mode": "required", "tools": names}


def _cache_key(system: str, tools: Sequence[ToolSpec]) -> str:
    """The same for requests that begin alike: the provider sends these to the same machine, which has the cache."""
    beginning = "\n".join((system, *(f"{tool.name} {tool.description}" for tool in tools)))
    return f"gleaner-{hashlib.sha256(beginning.encode()).hexdigest()[:24]}"


def _to_calls(items: Sequence[JsonObject], tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """The function calls, each with an id of its own."""
    ids: set[str] = set()
    calls = []
    for item in items:
        if item.get("type") != "function_call":
            continue
        call_id = as_string(item.get("call_id"))
        if not call_id or call_id in ids:
            call_id = f"call_{new_id()}"
        ids.add(call_id)
        arguments = arguments_text(item.get("arguments"))
        calls.append(ToolCall(id=call_id, name=read_name(as_string(item.get("name")), tools), arguments=arguments))
    return tuple(calls)


def _text(item: JsonObject) -> str:
    return "".join(as_string(part.get("text")) for part in _parts(item))


def _has_refusal(item: JsonObject) -> bool:
    return any(as_string(part.get("refusal")).strip() for part in _parts(item))


def _parts(item: JsonObject) -> list[JsonObject]:
    return list(map(as_object, as_list(item.get("content")))) if item.get("type") == "message" else []
