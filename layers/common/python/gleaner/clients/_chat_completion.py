"""Parses chat completions and salvages the tool calls from malformed ones."""

from __future__ import annotations

import json
from typing import Any

from gleaner.errors import ModelUnavailable
from gleaner.model import JsonObject, ModelTurn, TokenUsage, ToolCall
from gleaner.text import drop_surrogates


class NotACompletion(ModelUnavailable):
    """The response is not a completion, such as an error with status 200. A retry may succeed."""


def read_turn(body: bytes) -> ModelTurn:
    """Parse the body of a 200 response. A part that is missing or has the wrong type counts as empty.

    Providers that claim compatibility omit fields or change their types. The agent loop asks the model again
    for whatever it needs and does not find. Raises NotACompletion.
    """
    try:
        answer = json.loads(body)
    except (RecursionError, ValueError):
        raise NotACompletion("The language model sent a response that cannot be parsed.") from None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list):
        raise NotACompletion("The language model sent no completion.")
    choice = _as_object(choices[0]) if choices else {}
    message = _as_object(choice.get("message"))
    calls = _to_calls(message.get("tool_calls"))
    if not calls and (answer.get("error") or choice.get("error")):
        raise NotACompletion("The language model sent an error instead of a completion.")
    return ModelTurn(
        tool_calls=calls,
        content=_as_string(message.get("content")) or _as_string(message.get("refusal")),
        finish_reason=_as_string(choice.get("finish_reason")),
        model=_as_string(answer.get("model")),
        usage=_to_usage(_as_object(answer.get("usage"))),
    )


def _to_calls(calls: object) -> tuple[ToolCall, ...]:
    """Read the function calls and give each a unique id: some providers omit or repeat ids."""
    used_ids: set[str] = set()
    result = []
    for position, call in enumerate(map(_as_object, calls if isinstance(calls, list) else [])):
        function = _as_object(call.get("function"))
        if (call.get("type") or "function") != "function" or not function:
            continue
        call_id = _as_string(call.get("id"))
        if not call_id or call_id in used_ids:
            call_id = f"call_{position}_{len(used_ids)}"
        used_ids.add(call_id)
        arguments = _to_text(function.get("arguments"))
        result.append(ToolCall(id=call_id, name=_as_string(function.get("name")), arguments=arguments))
    return tuple(result)


def _to_text(arguments: object) -> str:
    """Return the arguments as JSON text; some providers send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return _as_string(arguments)
    return drop_surrogates(json.dumps(arguments, ensure_ascii=False))


def _to_usage(usage: JsonObject) -> TokenUsage:
    details = _as_object(usage.get("prompt_tokens_details"))
    return TokenUsage(
        input_tokens=_as_count(usage.get("prompt_tokens")),
        cached_input_tokens=_as_count(details.get("cached_tokens")),
        output_tokens=_as_count(usage.get("completion_tokens")),
    )


def _as_object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _as_string(value: Any) -> str:
    return drop_surrogates(value) if isinstance(value, str) else ""


def _as_count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0  # `bool` is a subclass of `int`
