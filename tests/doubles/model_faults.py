"""Turns of a misbehaving model, each derived from the correct call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.doubles.cut_response import CutResponse
from tests.doubles.scripted_model import Reply, answer, calls, completion, says

Call = tuple[str, Any]


def _json(call: Call) -> str:
    return json.dumps(call[1])


def _with_arguments(call: Call, arguments: Any, **more: Any) -> dict[str, Any]:
    turn = calls((call[0], ""), **more)
    turn["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    return turn


def _cut(call: Call, finish_reason: str) -> dict[str, Any]:
    return _with_arguments(call, _json(call)[: len(_json(call)) // 2], finish_reason=finish_reason)


def _altered(call: Call, **changes: Any) -> dict[str, Any]:
    turn = calls(call)
    turn["choices"][0]["message"]["tool_calls"][0] |= changes
    return turn


def api_error(status: int, message: str, **error: Any) -> Response:
    """An error response in the format of the OpenAI API."""
    return JSONResponse({"error": {"message": message, "type": "t", "param": None, "code": None} | error}, status)


# Faults of any step: the call cannot be understood, or there is none.
FAULTS: dict[str, Callable[[Call], Reply]] = {
    "arguments cut off, finish_reason length": lambda call: _cut(call, "length"),
    "arguments cut off, finish_reason tool_calls": lambda call: _cut(call, "tool_calls"),
    "arguments empty": lambda call: _with_arguments(call, ""),
    "arguments an empty object": lambda call: _with_arguments(call, "{}"),
    "arguments the word null": lambda call: _with_arguments(call, "null"),
    "arguments null": lambda call: _with_arguments(call, None),
    "arguments of wrong types": lambda call: _with_arguments(call, json.dumps({name: {"a": [7]} for name in call[1]})),
    "arguments nested deeply": lambda call: _with_arguments(call, '{"query":' * 5_000),
    "arguments followed by text": lambda call: _with_arguments(call, _json(call) + " Done."),
    "unknown tool": lambda call: calls(("search_everything", call[1])),
    "an empty tool name": lambda call: calls(("", call[1])),
    # microsoft/semantic-kernel#4447: the API refuses a request in which such a name stands
    "a tool name with a dot": lambda call: calls(("multi_tool_use.parallel", {"tool_uses": [call[1]]})),
    "a tool name of a space and a dot": lambda call: calls((" functions.x ", call[1])),
    "a tool name of 80 characters": lambda call: calls(("search_" * 11 + "all", call[1])),
    "a tool name that is not ASCII": lambda call: calls(("Suche_im_B\u00fccherregal", call[1])),
    "a tool name of signs only": lambda call: calls(("\u3002\u3002!", call[1])),
    "a tool name with a line end": lambda call: calls(("search\nthe book", call[1])),
    "a tool name with a lone surrogate": lambda call: calls(("sear\ud800ch", call[1])),
    "a tool name that starts with a digit": lambda call: calls(("9lives", call[1])),
    "a tool name of 100 KB": lambda call: calls(("x" * 100_000, call[1])),
    "a tool name null": lambda call: _altered(call, function={"name": None, "arguments": _json(call)}),
    "a tool name that is a list": lambda call: _altered(call, function={"name": [call[0]], "arguments": _json(call)}),
    "the names of two tools": lambda call: calls(("knowledge_base_search|generate_response", call[1])),
    "arguments a list of two": lambda call: _with_arguments(call, [call[1], call[1]]),
    "a refusal that is empty, and no call": lambda _: completion({"content": "", "refusal": ""}, finish_reason="stop"),
    "tool_choice ignored: text": lambda _: says("The answer is 42."),
    "tool_choice ignored: another tool": lambda _: calls(("index_keywords", {"keywords": ["Merging"]})),
    "a call of another type": lambda call: _altered(call, type="custom", custom={"name": call[0], "input": "x"}),
    "a call without a function": lambda call: _altered(call, function=None),
    "length without a call": lambda _: completion({"content": "Let me think"}, finish_reason="length"),
    "content null, no calls": lambda _: says(None),
    "no choices": lambda call: calls(call) | {"choices": []},
    "no message": lambda call: calls(call) | {"choices": [{"index": 0, "finish_reason": "stop"}]},
    "choices null": lambda call: calls(call) | {"choices": None},
    "an error object under status 200": lambda _: {"error": {"message": "secret prompt text", "code": 502}},
    "an error in the choice": lambda _: {"choices": [{"error": {"code": 502}, "finish_reason": "error"}]},
    "a body that is not JSON": lambda _: Response("<html>secret prompt text</html>", media_type="text/html"),
    "a body cut off": lambda call: Response(json.dumps(calls(call))[:120], media_type="application/json"),
    "a connection cut off": lambda call: CutResponse(json.dumps(calls(call)).encode()),
    "429": lambda _: api_error(429, "secret prompt text", code="rate_limit_exceeded"),
    "429 with Retry-After": lambda _: _rate_limited("0"),
    "429 with Retry-After in decimals": lambda _: _rate_limited("0.05"),
    "500": lambda _: api_error(500, "secret prompt text"),
    "503": lambda _: api_error(503, "secret prompt text"),
    "529": lambda _: api_error(529, "secret prompt text"),
}

# Faults of the answer: it cannot be accepted.
ANSWER_FAULTS: dict[str, Reply] = {
    "a source never retrieved": calls(answer("Merged.", ("kb-9",))),
    "a mark never retrieved": calls(answer("Merged. [kb-9]", ())),
    "a source by its number": calls(answer("Merged.", ("1",))),
    "a source that is a number": calls(("generate_response", {"answer": "Merged.", "sources": [1]})),
    "an answer of 300 KB": calls(answer("Merged. [kb-1] " + "word " * 60_000)),
    "an empty answer": calls(answer(" ")),
    "confidence NaN": calls(answer(confidence_score=float("nan"))),
    "confidence infinite": calls(answer(confidence_score=float("inf"))),
    "a lone surrogate and a wrong type": calls(("generate_response", '{"answer": "x\ud800", "sources": {"a": 1}}')),
}

# Oddities of the answer: what is good in it is delivered.
ANSWER_ODDITIES: dict[str, Reply] = {
    "a source never retrieved beside a good mark": calls(answer(sources=("kb-9",))),
    "a mark never retrieved beside a good one": calls(answer("Merged. [kb-1, web-1]")),
    "sources in a string": calls(("generate_response", {"answer": "Merged. [kb-1]", "sources": "kb-1"})),
    "sources as a JSON string": calls(("generate_response", {"answer": "Merged. [kb-1]", "sources": '["kb-1"]'})),
    "confidence above 1": calls(answer(confidence_score=7)),
    "confidence below 0": calls(answer(confidence_score=-0.1)),
    "confidence in words": calls(answer(confidence_score="high")),
    "a flag in words": calls(answer(used_external_kb="not at all")),
}

# Oddities of any step: the intention is clear, so the call is executed.
ODDITIES: dict[str, Callable[[Call], Reply]] = {
    "raw newlines in the arguments": lambda call: _with_arguments(call, json.dumps(call[1] | {"x": "a\nb"}, indent=1)),
    "a raw newline in a string": lambda call: _with_arguments(
        call, json.dumps(call[1] | {"x": "¶"}).replace("¶", "\n")
    ),
    "arguments not encoded": lambda call: _with_arguments(call, call[1]),
    "additional unknown arguments": lambda call: calls((call[0], call[1] | {"reasoning": "because"})),
    "no id": lambda call: calls(call, ids=[""]),
    "id null": lambda call: _altered(call, id=None),
    "equal ids": lambda call: calls(call, ("search_everything", {}), ids=["x", "x"]),
    "two calls without ids": lambda call: calls(call, ("search_everything", {}), ids=["", ""]),
    "no type": lambda call: _altered(call, type=None),
    "finish_reason stop": lambda call: calls(call, finish_reason="stop"),
    "finish_reason length after complete arguments": lambda call: calls(call, finish_reason="length"),
    "text beside the call": lambda call: _with_message(call, content="I will do it now."),
    "usage of another shape": lambda call: calls(call) | {"usage": {"prompt_tokens": "many", "total_tokens": None}},
    "no usage": lambda call: calls(call) | {"usage": None},
    "usage not a number": lambda call: _with_usage(call, float("nan"), float("inf")),
    "usage of 10^40": lambda call: _with_usage(call, 10**40, 10**40),
    "usage below 0": lambda call: _with_usage(call, -100, -10),
    "usage as decimals": lambda call: _with_usage(call, 100.0, 10.5),
    "more cached than sent": lambda call: _with_usage(call, 100, 10, cached_tokens=10**9, cache_write_tokens=10**9),
    "a model name of 10 KB": lambda call: calls(call) | {"model": "m" * 10_000},
    "arguments encoded twice": lambda call: _with_arguments(call, json.dumps(_json(call))),
    "arguments encoded three times": lambda call: _with_arguments(call, json.dumps(json.dumps(_json(call)))),
    "arguments a list": lambda call: _with_arguments(call, f"[{_json(call)}]"),
    "arguments a list, not encoded": lambda call: _with_arguments(call, [call[1]]),
    "a list encoded twice": lambda call: _with_arguments(call, json.dumps(f"[{_json(call)}]")),
    # The template of a model around the name: OpenAI, Gemini, gpt-oss (openai/harmony), Kimi K2
    "functions. before the name": lambda call: calls((f"functions.{call[0]}", call[1])),
    "default_api: before the name": lambda call: calls((f"default_api:{call[0]}", call[1])),
    "a channel after the name": lambda call: calls((f"{call[0]}<|channel|>commentary", call[1])),
    "a number after the name": lambda call: calls((f"functions.{call[0]}:0", call[1])),
    "spaces around the name": lambda call: calls((f" {call[0]}\n", call[1])),
    "the name in capitals, with hyphens": lambda call: calls((call[0].upper().replace("_", "-"), call[1])),
    "the name in quotes": lambda call: calls((f'"{call[0]}"', call[1])),
    "the name as a call": lambda call: calls((f"{call[0]}()", call[1])),
    "finish_reason content_filter after a whole call": lambda call: calls(call, finish_reason="content_filter"),
    "a refusal beside a whole call": lambda call: _with_message(call, refusal="I had rather not."),
}

# The model refuses, or a filter of its provider stops it: nothing that a retry would change.
REFUSALS: dict[str, Callable[[Call], Reply]] = {
    "arguments cut off, finish_reason content_filter": lambda call: _cut(call, "content_filter"),
    "finish_reason content_filter": lambda _: completion({"content": None}, finish_reason="content_filter"),
    "half an answer, finish_reason content_filter": lambda _: completion(
        {"content": "Take some"}, finish_reason="content_filter"
    ),
    "a refusal": lambda _: completion({"content": None, "refusal": "I cannot do that."}, finish_reason="stop"),
    "a refusal in a part": lambda _: completion(
        {"content": [{"type": "refusal", "refusal": "I cannot do that."}]}, finish_reason="stop"
    ),
    # Gemini sends the reasons of its own API (HKUDS/Vibe-Trading#308).
    "finish_reason SAFETY": lambda _: completion({"content": None}, finish_reason="SAFETY"),
    "finish_reason PROHIBITED_CONTENT": lambda _: completion(
        {"content": ""}, finish_reason="content_filter: PROHIBITED_CONTENT"
    ),
    "400 of Azure": lambda _: api_error(
        400, "The response was filtered", code="content_filter", param="prompt", innererror={"code": "x"}
    ),
    "400 of Azure, told by innererror": lambda _: api_error(
        400, "secret prompt text", innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
    ),
    # BerriAI/litellm#16231
    "400 of Azure behind LiteLLM": lambda _: api_error(
        400, "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - secret", code="400"
    ),
    "400 invalid_prompt of OpenAI": lambda _: api_error(
        400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", code="invalid_prompt"
    ),
    "400 of DeepSeek": lambda _: api_error(400, "Content Exists Risk"),
    # The page of OpenRouter on errors
    "403 of OpenRouter": lambda _: api_error(
        403,
        "secret",
        code=403,
        metadata={"reasons": ["violence"], "flagged_input": "secret", "provider_name": "OpenAI"},
    ),
    "403 of OpenRouter under status 200": lambda _: {
        "choices": None,
        "error": {"code": 403, "message": "secret", "metadata": {"reasons": [], "flagged_input": "secret"}},
    },
    "a filter's error in the choice": lambda _: {
        "choices": [{"error": {"code": "content_filter", "message": "secret"}, "finish_reason": "error"}]
    },
}


def _with_usage(call: Call, sent: float, written: float, **details: float) -> dict[str, Any]:
    usage = {"prompt_tokens": sent, "completion_tokens": written, "prompt_tokens_details": details}
    return calls(call) | {"usage": usage}


def _with_message(call: Call, **message: Any) -> dict[str, Any]:
    turn = calls(call)
    turn["choices"][0]["message"] |= message
    return turn


def _rate_limited(seconds: str) -> Response:
    response = api_error(429, "secret prompt text")
    response.headers["Retry-After"] = seconds
    return response
