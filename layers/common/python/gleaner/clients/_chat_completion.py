"""Reads an answer of the chat completions API: the tool calls in it, whatever else is wrong with it."""

from __future__ import annotations

import json
from typing import Any

from gleaner.errors import ModelUnavailable
from gleaner.model import JsonObject, ModelTurn, TokenUsage, ToolCall
from gleaner.text import encodable


class NotACompletion(ModelUnavailable):
    """An answer that is no completion, such as an error under status 200; the next one may be."""


def read_turn(body: bytes) -> ModelTurn:
    """The turn in the body of a 200 answer. A part that is missing or of a wrong type is as good as empty.

    Providers that call themselves compatible leave fields out and put other types into them. What the
    loop needs is read here; what is then missing is for the loop to ask for again. Raises NotACompletion.
    """
    try:
        answer = json.loads(body)
    except (RecursionError, ValueError):
        raise NotACompletion("The language model sent an answer that cannot be read.") from None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list):
        raise NotACompletion("The language model sent no completion.")
    choice = _object(choices[0]) if choices else {}
    message = _object(choice.get("message"))
    calls = _to_calls(message.get("tool_calls"))
    if not calls and (answer.get("error") or choice.get("error")):
        raise NotACompletion("The language model sent an error in place of a completion.")
    return ModelTurn(
        tool_calls=calls,
        content=_string(message.get("content")) or _string(message.get("refusal")),
        finish_reason=_string(choice.get("finish_reason")),
        model=_string(answer.get("model")),
        usage=_to_usage(_object(answer.get("usage"))),
    )


def _to_calls(calls: object) -> tuple[ToolCall, ...]:
    """The function calls, each with an id of its own: some providers leave ids out or repeat them."""
    seen: set[str] = set()
    result = []
    for position, call in enumerate(map(_object, calls if isinstance(calls, list) else [])):
        function = _object(call.get("function"))
        if (call.get("type") or "function") != "function" or not function:
            continue
        call_id = _string(call.get("id"))
        if not call_id or call_id in seen:
            call_id = f"call_{position}_{len(seen)}"
        seen.add(call_id)
        arguments = _to_text(function.get("arguments"))
        result.append(ToolCall(id=call_id, name=_string(function.get("name")), arguments=arguments))
    return tuple(result)


def _to_text(arguments: object) -> str:
    """Arguments as text. Some providers send the object itself, which says the same."""
    if arguments is None or isinstance(arguments, str):
        return _string(arguments)
    return encodable(json.dumps(arguments, ensure_ascii=False))


def _to_usage(usage: JsonObject) -> TokenUsage:
    details = _object(usage.get("prompt_tokens_details"))
    return TokenUsage(
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_input_tokens=_count(details.get("cached_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
    )


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return encodable(value) if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0  # True is an int, too
