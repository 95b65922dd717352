"""DeepSeek's thinking models."""

from __future__ import annotations

from tests.doubles.providers.brain import Call
from tests.doubles.providers.front import ChatProvider, Json, Refused, assistant_messages


class DeepSeek(ChatProvider):
    """Demands `reasoning_content` back, and lets nobody force a call while it thinks."""

    model = "deepseek-v4-thinking"

    def __init__(self) -> None:
        super().__init__()
        self._thoughts: dict[str, str] = {}  # by the id of the first call

    def check(self, body: Json) -> None:
        if body.get("tool_choice", "auto") not in ("auto", "none"):
            # Kode-CLI#182, pym96/Pan-agent#18, matiasbattocchia/open-bsp-api#20
            raise _refused("Thinking mode does not support this tool_choice")
        for message in assistant_messages(body):
            if message.get("reasoning_content") != self._thoughts[message["tool_calls"][0]["id"]]:
                # qwersyk/Newelle#404, earendil-works/pi#3636; api-docs.deepseek.com/guides/thinking_mode
                raise _refused("The `reasoning_content` in the thinking mode must be passed back to the API.")

    def message(self, calls: list[Call]) -> Json:
        message = super().message(calls) | {"content": "", "reasoning_content": self.secret("thought")}
        self._thoughts[message["tool_calls"][0]["id"]] = message["reasoning_content"]
        return message

    def usage(self) -> Json:
        return super().usage() | {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}


class MissingField(DeepSeek):
    """The other text that the missing field is refused with (vercel/ai#10778, QwenPaw#1319)."""

    def check(self, body: Json) -> None:
        for position, message in enumerate(body["messages"]):
            if message.get("tool_calls") and not message.get("reasoning_content"):
                raise _refused(
                    f"Missing `reasoning_content` field in the assistant message at message index {position}. For more "
                    "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
                )
        super().check(body)


def _refused(message: str) -> Refused:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
    # SaladDay/cc-switch-cli#170: the type of the content does not say JSON.
    return Refused(400, {"error": error}, media_type="application/octet-stream")
