"""Anthropic's OpenAI-compatible endpoint (platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk)."""

from __future__ import annotations

import secrets

from tests.doubles.providers.front import ChatProvider, Json, openai_error


class Anthropic(ChatProvider):
    """Ignores `response_format`, `strict`, `reasoning_effort` and others; it has no Responses API."""

    model = "claude-opus-5-5"
    enforces_schemas = False

    def check(self, body: Json) -> None:
        if body.get("n", 1) != 1:
            raise openai_error("n: must be 1", code="invalid_request_error")
        if not body.get("max_tokens") and not body.get("max_completion_tokens"):
            self.violations.append("the output is not bounded")

    def call_id(self, position: int) -> str:
        return f"toolu_{secrets.token_hex(12)}"
