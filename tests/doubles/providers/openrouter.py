"""OpenRouter, which passes requests on to other providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.doubles.providers.brain import Call
from tests.doubles.providers.front import ChatProvider, Json, Refused, assistant_messages


class OpenRouter(ChatProvider):
    """Demands `reasoning_details` back unmodified (openrouter.ai/docs/use-cases/reasoning-tokens)."""

    prefix = "/api/v1"
    model = "google/gemini-3.8-flash"

    def __init__(self) -> None:
        super().__init__()
        self._details: dict[str, Any] = {}  # by the id of the first call

    def check(self, body: Json) -> None:
        for message in assistant_messages(body):
            if message.get("reasoning_details") != self._details[message["tool_calls"][0]["id"]]:
                error = {"code": 400, "message": "Provider returned error", "metadata": {"provider_name": "Google"}}
                raise Refused(400, {"error": error, "user_id": "user_x"})

    def events(self, answer: Json, body: Json) -> Iterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"  # openrouter.ai/docs/api/reference/streaming
        yield from super().events(answer, body)

    def message(self, calls: list[Call]) -> Json:
        details = [
            {"type": "reasoning.text", "text": self.secret("text"), "signature": None, "format": "x", "index": 0},
            {"type": "reasoning.encrypted", "data": self.secret("data"), "id": "r1", "format": "x", "index": 1},
        ]
        message = super().message(calls) | {"refusal": None, "reasoning": None, "reasoning_details": details}
        self._details[message["tool_calls"][0]["id"]] = details
        return message

    def completion(self, message: Json, finish_reason: str, body: Json) -> Json:
        answer = super().completion(message, finish_reason, body) | {"provider": "Google"}
        answer["choices"][0]["native_finish_reason"] = finish_reason.upper()
        return answer


class ErrorUnder200(OpenRouter):
    """The first request of all ends in an error under status 200 (UKGovernmentBEIS/inspect_ai#1534)."""

    def answer(self, path: str, body: Json) -> Json:
        if len(self.requests) > 1:
            return super().answer(path, body)
        metadata = {"raw": "Too Many Requests", "provider_name": "Hyperbolic"}
        error = {"message": "Provider returned error", "code": 429, "metadata": metadata}
        return {"id": None, "choices": None, "error": error, "user_id": "user_x"}


class ErrorInChoice(OpenRouter):
    """The first request of all ends in an error within the choice (maximhq/bifrost#5425, genkit#6259)."""

    def answer(self, path: str, body: Json) -> Json:
        if len(self.requests) > 1:
            return super().answer(path, body)
        answer = self.completion({"content": ""}, "error", body)
        answer["choices"][0] |= {"error": {"code": 502, "message": "Provider error"}, "native_finish_reason": None}
        return answer | {"usage": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}}


class NoForcedCalls(OpenRouter):
    """No endpoint of the model takes a forced call: 404, although the route exists (zed#36094, infiAgent#19)."""

    def check(self, body: Json) -> None:
        if body.get("tool_choice") not in (None, "auto", "none"):
            message = (
                "No endpoints found that support the provided 'tool_choice' value. To learn more about provider "
                "routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection"
            )
            raise Refused(404, {"error": {"message": message, "code": 404}})
        super().check(body)


class NoTools(OpenRouter):
    """No endpoint of the model takes tools (Routstr#554)."""

    def check(self, body: Json) -> None:
        if body.get("tools"):
            message = (
                "No endpoints found that support tool use. To learn more about provider routing, visit: "
                "https://openrouter.ai/docs/guides/routing/provider-selection"
            )
            raise Refused(404, {"error": {"message": message, "code": 404}})
