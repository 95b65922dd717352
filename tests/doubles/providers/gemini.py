"""Gemini's OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.doubles.providers.brain import Call
from tests.doubles.providers.front import ChatProvider, Json, Refused, assistant_messages, whole_calls

_FIELDS = {
    *("model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "reasoning_effort"),
    *("response_format", "temperature", "top_p", "n", "stop", "stream", "stream_options", "extra_body"),
}
_MESSAGE_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name"}


class Gemini(ChatProvider):
    """Refuses unknown fields, and calls without the signature that they came with."""

    prefix = "/v1beta/openai"
    model = "gemini-3.8-flash"

    def __init__(self) -> None:
        super().__init__()
        self._signatures: dict[str, Any] = {}  # `extra_content` by the id of the call

    def check(self, body: Json) -> None:
        """Raises Refused."""
        unknown = set(body) - _FIELDS or {name for message in body["messages"] for name in set(message)} - (
            _MESSAGE_FIELDS
        )
        for name in unknown:
            # SkyrimNet#77, PromptFuzz#42
            message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            details = [{"fieldViolations": [{"description": message}]}]
            raise _refused(message, details=details)
        for position, message in enumerate(assistant_messages(body)):
            first = message["tool_calls"][0]
            if first.get("extra_content") != self._signatures[first["id"]]:
                # securo-finance/securo#884, labring/aiproxy#450
                raise _refused(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools "
                    "to work correctly, and missing thought_signature may lead to degraded model performance. "
                    f"Additional data, function call `default_api:{first['function']['name']}` , position "
                    f"{position + 2}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
                    "more details."
                )

    def call(self, call: Call, position: int) -> Json:
        wire = super().call(call, position)
        if position > 0:
            return wire  # of parallel calls, only the first is signed
        # The place is that of continuedev/continue#8865.
        wire["extra_content"] = {"google": {"thought_signature": self.secret("signature")}}
        self._signatures[wire["id"]] = wire["extra_content"]
        return wire

    def chunks(self, completion: Json, body: Json) -> Iterator[Json]:
        return whole_calls(completion, index=None)  # noho/dayu-agent#57, AstrBotDevs/AstrBot#6692

    def call_id(self, position: int) -> str:
        return f"function-call-{next(self._numbers):018d}"


class PlainTextOnce(Gemini):
    """Answers in plain text where the web should be searched."""

    @property
    def ignores_tools(self) -> bool:  # type: ignore[override]
        return len(self.requests) == 4


def _refused(message: str, **more: Any) -> Refused:
    # The body is a list, and `code` a number.
    return Refused(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"} | more}])
