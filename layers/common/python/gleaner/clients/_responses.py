"""Requests and answers of OpenAI's Responses API, used without any state at the provider."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from gleaner.clients._dialect import REPLAYED_ITEMS, Dialect, Forcing
from gleaner.clients._json_values import (
    arguments_text,
    as_count,
    as_list,
    as_object,
    as_string,
    replayed_arguments,
)
from gleaner.clients._model_request import ModelRequest, UnreadableAnswer
from gleaner.model import ChatMessage, JsonObject, ModelTurn, TokenUsage, ToolCall, ToolSpec, new_id

PATH = "/responses"
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
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def to_body(request: ModelRequest, dialect: Dialect) -> JsonObject:
    """The request body without the model's name.

    All tools are offered in every request, and `tool_choice` says which of them may be called: the provider caches
    the beginning of a request, and the list of tools is part of it.
    """
    system, items = _instructions(request.messages), _input_items(request.messages, dialect)
    if dialect.sends("prompt_cache_breakpoint"):
        items.insert(0, _CACHE_MARK)
    offered = request.tools if dialect.forcing is Forcing.ALLOWED else request.callable_tools
    optional: JsonObject = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": _cache_key(system, request.tools),
    }
    if dialect.effort is not None:
        optional["reasoning"] = {"effort": dialect.effort}
    body: JsonObject = {
        "instructions": system,
        "input": items,
        "tools": [_tool_to_wire(tool) for tool in offered],
        "tool_choice": _tool_choice(request, dialect.forcing),
    }
    if dialect.output_limits:
        body[dialect.output_limits[0]] = request.max_output_tokens
    return body | {name: value for name, value in optional.items() if dialect.sends(name)}


def read_turn(body: bytes, _request: ModelRequest, _dialect: Dialect) -> ModelTurn:
    """The turn in the body of a 200 answer. A part that is missing or of a wrong type is as good as empty.

    Raises UnreadableAnswer, also for a response that failed under status 200.
    """
    try:
        answer = as_object(json.loads(body))
    except (RecursionError, ValueError):
        raise UnreadableAnswer("The language model sent an answer that cannot be read.") from None
    if not isinstance(answer.get("output"), list):
        raise UnreadableAnswer("The language model sent no response.")
    items = [item for item in map(as_object, answer["output"]) if item.get("type") in _KNOWN_ITEMS]
    calls = _to_calls(items)
    if not calls and (answer.get("error") or answer.get("status") in ("failed", "cancelled")):
        raise UnreadableAnswer("The language model sent an error in place of a response.")
    reason = as_string(as_object(answer.get("incomplete_details")).get("reason"))
    return ModelTurn(
        tool_calls=calls,
        content="\n".join(filter(None, map(_text, items))),
        finish_reason=_FINISH_REASONS.get(reason, reason) if answer.get("status") == "incomplete" else "stop",
        model=as_string(answer.get("model")),
        opaque=items or None,
        usage=_to_usage(as_object(answer.get("usage"))),
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
    return {"call_id": call.id, "name": call.name, "arguments": replayed_arguments(call.arguments)}


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


def _to_calls(items: Sequence[JsonObject]) -> tuple[ToolCall, ...]:
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
        calls.append(ToolCall(id=call_id, name=as_string(item.get("name")), arguments=arguments))
    return tuple(calls)


def _text(item: JsonObject) -> str:
    parts = map(as_object, as_list(item.get("content"))) if item.get("type") == "message" else ()
    return "".join(as_string(part.get("text")) or as_string(part.get("refusal")) for part in parts)


def _to_usage(usage: JsonObject) -> TokenUsage:
    prompt = as_object(usage.get("input_tokens_details"))
    completion = as_object(usage.get("output_tokens_details"))
    return TokenUsage(
        input_tokens=as_count(usage.get("input_tokens")),
        cached_input_tokens=as_count(prompt.get("cached_tokens")),
        cache_write_tokens=as_count(prompt.get("cache_write_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(completion.get("reasoning_tokens")),
    )
