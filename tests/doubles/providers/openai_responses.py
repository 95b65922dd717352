"""OpenAI's Responses API: strict about parameters, items and their order.

The parameters are those of the openai SDK 3.57 (types/responses/response_create_params.py).
"""

from __future__ import annotations

import json
from typing import Any

from openai.types.responses import response_create_params

from tests.doubles.providers.brain import PLAIN_ANSWER, Call, Conversation, next_calls
from tests.doubles.providers.front import Json, Provider, Refused, listed, openai_error

_PARAMETERS = {
    "stream",
    *response_create_params.ResponseCreateParamsBase.__annotations__,
}
_ITEM_FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    # A real `status` is refused here, too (jcode#1028; openai/openai-python#3008 has the text).
    "reasoning": {"type", "id", "summary", "content", "encrypted_content"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "namespace"},
    "function_call_output": {"type", "id", "call_id", "output", "status"},
}
_PART_FIELDS = {
    "input_text": {"type", "text", "prompt_cache_breakpoint"},
    "output_text": {"type", "text", "annotations", "logprobs"},
    "refusal": {"type", "refusal"},
}
_ALL_EFFORTS = ("none", "low", "medium", "high", "xhigh", "max")


class OpenAIResponses(Provider):
    """A model of the generation that takes everything: gpt-5.6 and later."""

    model = "gpt-6-luna"
    efforts: tuple[str, ...] = _ALL_EFFORTS  # none of them: the model does not reason
    takes_breakpoints = True

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[str, Json] = {}  # output items by id
        self._pairs: dict[str, str] = {}  # id of a reasoning item by that of the item that followed it
        self._tools: dict[str, Any] = {}  # by question

    def answer(self, path: str, body: Json) -> Json:
        if path != "/responses":
            raise openai_error(f"Invalid URL (POST {self.prefix}{path})", status=404)
        self.check(body)
        conversation = self._read(body["input"])
        tools = body.get("tools", [])
        if self._tools.setdefault(conversation.question, tools) != tools:
            self.violations.append("the tools changed within a question")
        calls = next_calls(conversation, self._callable(body))
        self.useful += bool(calls)
        return self._response(calls)

    def check(self, body: Json) -> None:
        """Raises Refused."""
        for name in body:
            if name not in _PARAMETERS:
                raise openai_error(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        if body.get("store") is not False:
            self.violations.append("the response is stored at the provider")
        self._check_reasoning(body)
        self._check_tools(body)
        for position, item in enumerate(body["input"]):
            self._check_item(position, item)
        self._check_calls(body["input"])
        self._check_replayed(body["input"])

    def _check_reasoning(self, body: Json) -> None:
        effort = body.get("reasoning", {}).get("effort")
        if not self.efforts and "reasoning.encrypted_content" in body.get("include", ()):
            # pydantic/pydantic-ai#2865
            raise openai_error("Encrypted content is not supported with this model.", param="include")
        if not self.efforts and effort:
            # RageAgainstThePixel/OpenAI-DotNet#500, BoundaryML/baml#2708
            raise openai_error(
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                param="reasoning.effort",
                code="unsupported_parameter",
            )
        if effort and effort not in self.efforts:
            # openai/openai-agents-python#2089
            raise openai_error(
                f"Unsupported value: '{effort}' is not supported with the '{self.model}' model. "
                f"Supported values are: {listed(self.efforts)}.",
                param="reasoning.effort",
                code="unsupported_value",
            )

    def _check_tools(self, body: Json) -> None:
        tools = body.get("tools", [])
        for position, tool in enumerate(tools):
            # Both are required keys (function_tool_param.py).
            if set(tool) != {"type", "name", "description", "parameters", "strict"}:
                raise openai_error(f"Unknown parameter: 'tools[{position}]'.", param=f"tools[{position}]")
        offered = {tool["name"] for tool in tools}
        if not set(self._callable(body)) <= offered:
            raise openai_error("Tool choice names a tool that is not in 'tools'.", param="tool_choice")

    def _callable(self, body: Json) -> list[str]:
        choice = body.get("tool_choice", "auto")  # of a request without tools there is none
        if isinstance(choice, str):
            return [tool["name"] for tool in body.get("tools", [])]
        if choice["type"] == "function":
            return [choice["name"]]
        # tool_choice_allowed_param.py
        if choice["type"] != "allowed_tools" or set(choice) != {"type", "mode", "tools"}:
            raise openai_error("Invalid value for 'tool_choice'.", param="tool_choice", code="invalid_value")
        return [tool["name"] for tool in choice["tools"]]

    def _check_item(self, position: int, item: Json) -> None:
        kind = item.get("type", "message")
        if kind not in _ITEM_FIELDS:
            raise openai_error(f"Invalid value: '{kind}'.", param=f"input[{position}]", code="invalid_value")
        for name in set(item) - _ITEM_FIELDS[kind]:
            where = f"input[{position}].{name}"
            raise openai_error(f"Unknown parameter: '{where}'.", param=where, code="unknown_parameter")
        if kind == "reasoning" and "summary" not in item:
            # newo-ether/Agora#141
            raise openai_error(f"Input[{position}] missing required field `summary`", param="input")
        for place, part in enumerate(item["content"] if isinstance(item.get("content"), list) else ()):
            for name in set(part) - _PART_FIELDS[part["type"]]:
                where = f"input[{position}].content[{place}].{name}"
                raise openai_error(f"Unknown parameter: '{where}'.", param=where, code="unknown_parameter")
            if "prompt_cache_breakpoint" in part and not self.takes_breakpoints:
                # Kilo-Org/kilocode#13052; its code and parameter are not public.
                raise openai_error("prompt_cache_breakpoint is not supported on this model")

    def _check_calls(self, items: list[Json]) -> None:
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        for call_id in calls:
            if outputs.count(call_id) != calls.count(call_id):
                # symgraph/GhidrAssist#78
                raise openai_error(f"No tool output found for function call {call_id}.", param="input")
        for call_id in set(outputs) - set(calls):
            # continuedev/continue#10092
            raise openai_error(f"No tool call found for function call output with call_id {call_id}.", param="input")

    def _check_replayed(self, items: list[Json]) -> None:
        replayed = [item["id"] for item in items if "id" in item]
        for position, item in enumerate(items):
            name, kind = item.get("id"), item.get("type", "message")
            if name is None:
                if kind == "function_call":
                    self.violations.append("a call came back without its id")
                continue
            if name not in self._sent or (kind == "reasoning" and not item.get("encrypted_content")):
                raise _unknown_item(name)
            if item != self._sent[name] or list(item) != list(self._sent[name]):
                self.violations.append(f"item {name} came back changed")
            if name in self._pairs and self._pairs[name] not in replayed:
                # continuedev/continue#11466
                raise openai_error(
                    f"Item '{name}' of type '{kind}' was provided without its required 'reasoning' item: "
                    f"'{self._pairs[name]}'.",
                    param="input",
                )
            following = items[position + 1].get("id") if position + 1 < len(items) else None
            if kind == "reasoning" and self._pairs.get(str(following)) != name:
                # continuedev/continue#8933
                raise openai_error(
                    f"Item '{name}' of type 'reasoning' was provided without its required following item.",
                    param="input",
                )

    def _read(self, items: list[Json]) -> Conversation:
        names: dict[str, str] = {}
        question, done = "", []
        for item in items:
            if item.get("type") == "function_call":
                names[item["call_id"]] = item["name"]
            elif item.get("type") == "function_call_output":
                done += [names[item["call_id"]]] if '"error": {' not in item["output"] else []
            elif item.get("role") == "user" and not item["content"].startswith("[gleaner]"):
                question = item["content"]
        return Conversation(question, tuple(done))

    def _response(self, calls: list[Call]) -> Json:
        output = self._reasoning() if self.efforts else []
        output += [self._call(call, position) for position, call in enumerate(calls)]
        if not calls:
            part = {"type": "output_text", "text": PLAIN_ANSWER, "annotations": [], "logprobs": []}
            output.append(
                {"id": f"msg_{next(self._numbers)}", "type": "message", "status": "completed", "role": "assistant"}
                | {"content": [part]}
            )
        for item in output:
            self._sent[item["id"]] = json.loads(json.dumps(item))
        if self.efforts:
            self._pairs[output[1]["id"]] = output[0]["id"]
        return {
            "id": f"resp_{next(self._numbers)}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": True,
            "store": False,
            "usage": self.usage(),
        }

    def usage(self) -> Json:
        """What the request used."""
        return {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 112,
        }

    def _reasoning(self) -> list[Json]:
        number = next(self._numbers)
        secret = self.secret("reasoning")
        return [{"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": secret}]

    def call_id(self, position: int) -> str:
        """The call_id of the call at `position` of a response."""
        return f"call_{next(self._numbers)}"

    def _call(self, call: Call, position: int) -> Json:
        return {
            "id": f"fc_{next(self._numbers)}",
            "type": "function_call",
            "status": "completed",
            "arguments": call.text,
            "call_id": self.call_id(position),
            "name": call.name,
        }


def _unknown_item(name: str) -> Refused:
    # continuedev/continue#9101
    message = (
        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    return openai_error(message, param="input", status=404)


class Reasoning54(OpenAIResponses):
    """A reasoning model of an earlier generation, which knows no explicit cache breakpoints (opencode#36320)."""

    model = "gpt-5.4-mini"
    efforts = ("none", "low", "medium", "high", "xhigh")
    takes_breakpoints = False


class NotReasoning(OpenAIResponses):
    """A model without reasoning."""

    model = "gpt-4.1-mini"
    efforts = ()
    takes_breakpoints = False


class AlwaysHigh(OpenAIResponses):
    """A model that takes one effort only."""

    model = "gpt-5-pro"
    efforts = ("high",)
    takes_breakpoints = False
