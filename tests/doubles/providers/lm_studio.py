"""LM Studio."""

from __future__ import annotations

from tests.doubles.providers.front import ChatProvider, Json, Refused


class LMStudio(ChatProvider):
    """Takes `tool_choice` as a string only; its errors are strings (lmstudio-ai/lmstudio-bug-tracker#670)."""

    model = "qwen3-8b"

    def check(self, body: Json) -> None:
        if isinstance(body.get("tool_choice"), dict):
            message = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
            raise Refused(400, {"error": message})

    def call_id(self, position: int) -> str:
        return f"{100_000_000 + next(self._numbers)}"


class PlainText(LMStudio):
    """A model that writes something like a call into its text, or no call at all (lmstudio-bug-tracker#2115)."""

    ignores_tools = True


class NoGrammar(LMStudio):
    """Its llama.cpp engine cannot make a grammar of the tools (firecrawl/firecrawl#4512)."""

    def check(self, body: Json) -> None:
        super().check(body)
        if body.get("tools"):
            raise Refused(400, {"error": "Failed to initialize samplers: failed to parse grammar."})
