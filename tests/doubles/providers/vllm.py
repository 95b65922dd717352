"""vLLM's server (chat_completion/protocol.py, serving_chat.py)."""

from __future__ import annotations

from tests.doubles.providers.brain import Call
from tests.doubles.providers.front import ChatProvider, Json, Refused


class VLLM(ChatProvider):
    """A server with a parser of tool calls."""

    model = "Qwen/Qwen3-8B"

    def check(self, body: Json) -> None:
        choice = body.get("tool_choice", "auto" if body.get("tools") else "none")
        if choice != "none" and not body.get("tools"):
            raise refused("When using `tool_choice`, `tools` must be set.")
        if isinstance(choice, str) and choice not in ("none", "auto", "required"):
            raise refused(
                f'Invalid value for `tool_choice`: {choice}! Only named tools, "none", "auto" or "required" are '
                "supported."
            )
        if isinstance(choice, dict) and not isinstance(choice.get("function"), dict):
            raise refused(
                "Invalid value for `function`: `None` in `tool_choice`! Correct usage: "
                '`{"type": "function", "function": {"name": "my_function"}}`'
            )

    def finish_reason(self, body: Json) -> str:
        # A named function ends in `stop`, here as at OpenAI (vllm#25054).
        return "stop" if isinstance(body["tool_choice"], dict) else "tool_calls"

    def message(self, calls: list[Call]) -> Json:
        return super().message(calls) | {"reasoning": None, "refusal": None, "annotations": None, "audio": None}

    def call_id(self, position: int) -> str:
        return f"chatcmpl-tool-{next(self._numbers):032x}"


class NoParser(VLLM):
    """A server without a parser of tool calls: every choice is refused (vllm#30613, agentscope-ai/QwenPaw#1449)."""

    def check(self, body: Json) -> None:
        super().check(body)
        choice = body.get("tool_choice", "auto")
        if body.get("tools") and choice == "auto":
            raise refused('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
        if body.get("tools"):
            raise refused(f'tool_choice="{choice}" requires --tool-call-parser to be set')


class EmptyCalls(VLLM):
    """Version 0.27 without a parser: `tool_calls` as the reason, and no call (vllm#53255, #53363)."""

    ignores_tools = True

    def completion(self, message: Json, finish_reason: str, body: Json) -> Json:
        if body.get("tools"):
            message, finish_reason = message | {"tool_calls": []}, "tool_calls"
        return super().completion(message, finish_reason, body)


class OldVersion(VLLM):
    """A strict old server: `max_completion_tokens` is an unknown field (1Panel-dev/MaxKB#2912)."""

    def check(self, body: Json) -> None:
        super().check(body)
        if "max_completion_tokens" in body:
            detail = {"type": "extra_forbidden", "loc": ("body", "max_completion_tokens")}
            detail |= {"msg": "Extra inputs are not permitted", "input": body["max_completion_tokens"]}
            error = {"object": "error", "message": str([detail]), "type": "BadRequestError"}
            raise Refused(400, error | {"param": None, "code": 400})


class SmallContext(VLLM):
    """A context that the output fills as it was asked for (ogx-ai/ogx#4534; vllm-project/vllm#20409)."""

    context = 4096

    def check(self, body: Json) -> None:
        super().check(body)
        output, prompt = body.get("max_tokens", 0), 568
        if output + prompt > self.context:
            message = (
                f"This model's maximum context length is {self.context} tokens. However, you requested "
                f"{output + prompt} tokens ({prompt} in the messages, {output} in the completion). Please reduce the "
                "length of the messages or completion."
            )
            error = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
            raise Refused(400, error)


def refused(message: str) -> Refused:
    """An error in the server's form: `code` is a number."""
    return Refused(400, {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}})
