"""llama.cpp's server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.doubles.providers.front import ChatProvider, Json, Refused

_MAX_REPETITIONS = 2_000  # MAX_REPETITION_THRESHOLD in src/llama-grammar.cpp; that many fail, too (#27859)


class LlamaCpp(ChatProvider):
    """A model that uses tools. Unknown fields are ignored."""

    model = "qwen3-4b-q4_k_m.gguf"

    def check(self, body: Json) -> None:
        choice = body.get("tool_choice", "auto")
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            raise _refused(f"Invalid tool_choice: {choice}")  # common/chat.cpp
        if isinstance(choice, dict):
            self.violations.append("tool_choice is an object, which counts as auto")  # ggml-org/llama.cpp#26535
        form = body.get("response_format") or {"type": "text"}
        if form["type"] not in ("text", "json_object", "json_schema"):
            raise _refused(f'response_format type must be one of "text" or "json_object", but got: {form["type"]}')
        schemas = [tool["function"]["parameters"] for tool in body.get("tools", ())]
        schemas += [form["json_schema"]["schema"]] if form["type"] == "json_schema" else []
        for part in _objects(schemas):
            bounds = [part.get(name) for name in ("minLength", "maxLength", "minItems", "maxItems")]
            if any(isinstance(bound, int) and bound >= _MAX_REPETITIONS for bound in bounds):
                # #26596, #25746; the reason is in the server's log only.
                raise _refused("Failed to initialize samplers: failed to parse grammar")
            if part.get("type") == "object" and part.get("properties") == {}:
                raise _refused("Failed to initialize samplers: failed to parse grammar")  # #25923


class WeakModel(LlamaCpp):
    """A small model that answers in plain text where a call is due, as a 1.5B model did in 5 of 5 requests."""

    model = "qwen2.5-1.5b-instruct-q4_k_m.gguf"
    ignores_tools = True


class NoGrammar(LlamaCpp):
    """A build that cannot make a grammar of the tools, though of a smaller schema (#25895)."""

    def check(self, body: Json) -> None:
        super().check(body)
        if body.get("tools"):
            raise _refused("Failed to initialize samplers: failed to parse grammar")


def _refused(message: str) -> Refused:
    return Refused(400, {"error": {"code": 400, "message": message, "type": "invalid_request_error"}})


def _objects(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)
