"""Answers of both of OpenAI's APIs as the events of a stream, in the shapes and the order that OpenAI sends them.

Chat completions: types/chat/chat_completion_chunk.py of openai-python; responses: its types/responses/*_event.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]

CHARS_PER_DELTA = 4  # about a token, as models write


def chat_stream(completion: Json, *, with_usage: bool) -> Iterator[bytes]:
    """A completion as chunks; with usage, all of them have the field, and a last one without choices has the counts."""
    head = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    if with_usage:
        head["usage"] = None
    choice = completion["choices"][0]
    for delta in _deltas(choice["message"]):
        yield _event(head | {"choices": [_choice(delta, None)]})
    yield _event(head | {"choices": [_choice({}, choice["finish_reason"])]})
    if with_usage:
        yield _event(head | {"choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def response_stream(response: Json) -> Iterator[bytes]:
    """A response as events with sequence numbers."""
    for number, event in enumerate(_response_events(response)):
        data = event | {"sequence_number": number}
        yield f"event: {event['type']}\n".encode() + _event(data)


def _event(data: Json) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _choice(delta: Json, finish_reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _deltas(message: Json) -> Iterator[Json]:
    yield {"role": "assistant", "content": None if "tool_calls" in message else "", "refusal": None}
    for piece in _pieces(message["content"] or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        yield {"tool_calls": [{"index": index} | call | {"function": function | {"arguments": ""}}]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _response_events(response: Json) -> Iterator[Json]:
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        is_call = item["type"] == "function_call"
        empty: Json = {"arguments": ""} if is_call else {"content": []}
        yield {"type": "response.output_item.added", "item": item | empty | {"status": "in_progress"}} | place
        inside = place | {"item_id": item["id"]}
        yield from _call_events(item, inside) if is_call else _message_events(item["content"], inside)
        yield {"type": "response.output_item.done", "item": item} | place
    yield {"type": "response.completed", "response": response}


def _call_events(call: Json, inside: Json) -> Iterator[Json]:
    for piece in _pieces(call["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece} | inside
    whole = {"arguments": call["arguments"], "name": call["name"]}
    yield {"type": "response.function_call_arguments.done"} | whole | inside


def _message_events(parts: Sequence[Json], inside: Json) -> Iterator[Json]:
    for index, part in enumerate(parts):
        place = inside | {"content_index": index}
        yield {"type": "response.content_part.added", "part": part | {"text": ""}} | place
        for piece in _pieces(part["text"]):
            yield {"type": "response.output_text.delta", "delta": piece, "logprobs": []} | place
        yield {"type": "response.output_text.done", "text": part["text"], "logprobs": []} | place
        yield {"type": "response.content_part.done", "part": part} | place


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), CHARS_PER_DELTA):
        yield text[start : start + CHARS_PER_DELTA]
