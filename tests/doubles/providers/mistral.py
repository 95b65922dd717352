"""Mistral, which refuses every field that it does not know."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Any

from tests.doubles.providers.brain import Call
from tests.doubles.providers.front import ChatProvider, Json, Refused
from tests.doubles.streamed_wire import chat_chunks

_FIELDS = {
    *("model", "messages", "tools", "tool_choice", "max_tokens", "response_format", "temperature", "top_p", "stop"),
    *("stream", "random_seed", "presence_penalty", "frequency_penalty", "n", "prediction", "parallel_tool_calls"),
    *("prompt_mode", "safe_prompt", "metadata", "prompt_cache_key"),
}
_MESSAGE_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}
_FUNCTION_FIELDS = {"name", "description", "parameters", "strict"}


class Mistral(ChatProvider):
    """The current form of its errors (editor-code-assistant/eca#231, #315)."""

    model = "mistral-small-2603"

    def check(self, body: Json) -> None:
        self._refuse_extra(["body"], body, _FIELDS)
        for position, message in enumerate(body["messages"]):
            # charmbracelet/crush#1590
            self._refuse_extra(["body", "messages", position, message["role"]], message, _MESSAGE_FIELDS)
        for position, tool in enumerate(body.get("tools", ())):
            # mistralai/client-python#91
            self._refuse_extra(["body", "tools", position, "function"], tool["function"], _FUNCTION_FIELDS)
        choice = body.get("tool_choice", "auto")
        if isinstance(choice, str) and choice not in ("auto", "none", "any", "required"):
            raise self.invalid("enum", ["body", "tool_choice"], "Input should be 'auto', 'none' or 'any'", choice)
        ids = [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]
        for call_id in ids:
            if not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
                # nearai/ironclaw#1241, eca#233
                text = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                error = {"object": "error", "message": text, "type": "invalid_function_call", "param": None}
                raise Refused(400, error | {"code": "3280", "raw_status_code": 400})

    def _refuse_extra(self, place: list[Any], value: Json, fields: set[str]) -> None:
        for name in set(value) - fields:
            raise self.invalid("extra_forbidden", [*place, name], "Extra inputs are not permitted", value[name])

    def invalid(self, kind: str, place: list[Any], text: str, value: Any) -> Refused:
        """The refusal of a body that is not valid."""
        detail = [{"type": kind, "loc": place, "msg": text, "input": value}]
        error = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
        return Refused(422, error | {"param": None, "code": None})

    def chunks(self, completion: Json, body: Json) -> Iterator[Json]:
        *chunks, last = chat_chunks(completion, size=9)
        yield from chunks[:-1]
        yield chunks[-1] | {"usage": last["usage"]}  # without being asked (docs.mistral.ai/api, streaming)

    def message(self, calls: list[Call]) -> Json:
        return super().message(calls) | {"content": ""}

    def call_id(self, position: int) -> str:
        return secrets.token_hex(5)[:9]


class PlainDetail(Mistral):
    """The older form of its errors (Gitlawb/openclaude#739)."""

    def invalid(self, kind: str, place: list[Any], text: str, value: Any) -> Refused:
        return Refused(422, {"detail": [{"type": kind, "loc": place, "msg": text, "input": value}]})
