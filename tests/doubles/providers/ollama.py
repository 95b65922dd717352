"""Ollama (openai/openai.go, docs/api/openai-compatibility.mdx, at 2026-08-21)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator

from tests.doubles.providers.front import ChatProvider, Json, Refused, whole_calls


class Ollama(ChatProvider):
    """Ignores `tool_choice` and every field that it does not know."""

    model = "qwen3:8b"
    thinks = False

    def check(self, body: Json) -> None:
        if "max_tokens" not in body:
            self.violations.append("the output is not bounded: max_completion_tokens is ignored")
        for message in body["messages"]:
            if message["content"] is None and not message.get("tool_calls"):
                raise _refused("invalid message content type: <nil>")
            for call in message.get("tool_calls") or ():
                if not isinstance(json.loads(call["function"]["arguments"]), dict):
                    raise _refused("invalid tool call arguments")
        if body.get("reasoning_effort", "none") != "none" and not self.thinks:
            raise _refused(f'"{self.model}" does not support thinking')  # server/routes.go

    def chunks(self, completion: Json, body: Json) -> Iterator[Json]:
        return whole_calls(completion, index=0)  # ollama/ollama#15457, #13581

    def call_id(self, position: int) -> str:
        return f"call_{secrets.token_hex(4)}"


class PlainText(Ollama):
    """A model that answers in plain text, since nothing makes it call."""

    model = "llama3.2:1b"
    ignores_tools = True


class NoTools(Ollama):
    """A model without tools (pydantic/pydantic-ai#703, ollama/ollama#6027)."""

    model = "llama3:8b"

    def check(self, body: Json) -> None:
        if body.get("tools"):
            raise _refused("registry.ollama.ai/library/llama3:8b does not support tools")
        super().check(body)


def _refused(message: str) -> Refused:
    return Refused(400, {"error": {"message": message, "type": "api_error", "param": None, "code": None}})
