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
    "arguments cut off, finish_reason content_filter": lambda call: _cut(call, "content_filter"),
    "arguments encoded twice": lambda call: _with_arguments(call, json.dumps(_json(call))),
    "arguments a list": lambda call: _with_arguments(call, f"[{_json(call)}]"),
    "arguments a list, not encoded": lambda call: _with_arguments(call, [call[1]]),
    "arguments empty": lambda call: _with_arguments(call, ""),
    "arguments an empty object": lambda call: _with_arguments(call, "{}"),
    "arguments the word null": lambda call: _with_arguments(call, "null"),
    "arguments null": lambda call: _with_arguments(call, None),
    "arguments of wrong types": lambda call: _with_arguments(call, json.dumps({name: {"a": [7]} for name in call[1]})),
    "arguments nested deeply": lambda call: _with_arguments(call, '{"query":' * 5_000),
    "arguments followed by text": lambda call: _with_arguments(call, _json(call) + " Done."),
    "unknown tool": lambda call: calls(("search_everything", call[1])),
    "an empty tool name": lambda call: calls(("", call[1])),
    "tool_choice ignored: text": lambda _: says("The answer is 42."),
    "tool_choice ignored: another tool": lambda _: calls(("index_keywords", {"keywords": ["Merging"]})),
    "a call of another type": lambda call: _altered(call, type="custom", custom={"name": call[0], "input": "x"}),
    "a call without a function": lambda call: _altered(call, function=None),
    "content_filter": lambda _: completion({"content": None}, finish_reason="content_filter"),
    "refusal": lambda _: completion({"content": None, "refusal": "I cannot do that."}, finish_reason="stop"),
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
}


def _with_message(call: Call, **message: Any) -> dict[str, Any]:
    turn = calls(call)
    turn["choices"][0]["message"] |= message
    return turn


def _rate_limited(seconds: str) -> Response:
    response = api_error(429, "secret prompt text")
    response.headers["Retry-After"] = seconds
    return response
