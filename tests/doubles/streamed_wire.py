"""Whole answers of both APIs as the events of a stream, whatever is odd about them.

The shapes are those of recorded streams of OpenAI (openai-python tests/lib/chat/test_completions_streaming.py; the API
reference of Responses). A part of an answer that is no text is sent whole, as some providers do.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]


def chat_chunks(completion: Any, *, size: int) -> Iterator[Any]:
    """A chat completion as chunks whose texts have at most `size` characters. What is no completion stays as it is."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not choices or not isinstance(choices[0], dict):
        yield completion
        return
    choice = choices[0]
    head = {name: value for name, value in completion.items() if name not in ("choices", "usage", "object")}
    head["object"] = "chat.completion.chunk"
    message = choice.get("message")
    rest = {name: value for name, value in choice.items() if name not in ("message", "finish_reason")}
    for delta in _deltas(message if isinstance(message, dict) else {}, size):
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [rest | {"delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if completion.get("usage") is not None:
        yield head | {"choices": [], "usage": completion["usage"]}


def response_events(response: Any, *, size: int) -> Iterator[Any]:
    """A response of the Responses API as its events, with texts of at most `size` characters in each."""
    if not (isinstance(response, dict) and isinstance(response.get("output"), list)):
        yield {"type": "error", **(response.get("error") or {})} if isinstance(response, dict) else response
        return
    begun = response | {"status": "in_progress", "output": [], "usage": None, "error": None, "incomplete_details": None}
    events: list[Iterable[Json]] = [
        [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}],
        *(_item_events(item, position, size) for position, item in enumerate(response["output"])),
        [{"type": f"response.{response.get('status', 'completed')}", "response": response}],
    ]
    for number, event in enumerate(itertools.chain.from_iterable(events)):
        yield event | {"sequence_number": number}


def as_event(data: Any) -> bytes:
    """One event of a stream. Its JSON is ASCII, so that it can hold what cannot be encoded."""
    name = f"event: {data['type']}\n" if isinstance(data, dict) and isinstance(data.get("type"), str) else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _deltas(message: Json, size: int) -> Iterator[Json]:
    yield {"role": "assistant", "content": None}
    for name, value in message.items():
        if name in ("role", "tool_calls"):
            continue
        for piece in _pieces(value, size):
            yield {name: piece}
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        for delta in _call_deltas(call, size):
            yield {"tool_calls": [{"index": index} | delta if isinstance(delta, dict) else delta]}


def _call_deltas(call: Any, size: int) -> Iterator[Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        yield call
        return
    yield call | {"function": function | {"arguments": ""}}
    for piece in _pieces(function["arguments"], size):
        yield {"function": {"arguments": piece}}


def _item_events(item: Any, position: int, size: int) -> Iterator[Json]:
    place = {"output_index": position}
    if not isinstance(item, dict):
        yield {"type": "response.output_item.done", "item": item} | place
        return
    inside = place | {"item_id": item.get("id")}
    begun = item | {name: value for name, value in (("arguments", ""), ("content", [])) if name in item}
    yield {"type": "response.output_item.added", "item": begun | {"status": "in_progress"}} | place
    if item.get("type") == "function_call" and isinstance(item.get("arguments"), str):
        kind = "response.function_call_arguments"
        for piece in _pieces(item["arguments"], size):
            yield {"type": f"{kind}.delta", "delta": piece} | inside
        yield {"type": f"{kind}.done", "arguments": item["arguments"], "name": item.get("name")} | inside
    for number, part in enumerate(item.get("content") or () if item.get("type") == "message" else ()):
        yield from _part_events(part, inside | {"content_index": number}, size)
    yield {"type": "response.output_item.done", "item": item} | place


def _part_events(part: Json, inside: Json, size: int) -> Iterator[Json]:
    name = "refusal" if part.get("type") == "refusal" else "text"
    kind = "response.refusal" if name == "refusal" else "response.output_text"
    yield {"type": "response.content_part.added", "part": part | {name: ""}} | inside
    for piece in _pieces(part.get(name), size):
        yield {"type": f"{kind}.delta", "delta": piece} | inside
    yield {"type": f"{kind}.done", name: part.get(name)} | inside
    yield {"type": "response.content_part.done", "part": part} | inside


def _pieces(value: Any, size: int) -> Iterator[Any]:
    if not isinstance(value, str):
        yield value
        return
    for start in range(0, len(value), size):
        yield value[start : start + size]
