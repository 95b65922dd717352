"""Odd answers of language models: refusals, names that are no names, and numbers that are no counts."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2
import pytest

from gleaner.clients.chat_model import Api
from gleaner.errors import AnswerRefused, ModelUnavailable
from gleaner.model import ChatMessage, TokenUsage
from tests.doubles.in_process_provider import (
    QUESTION,
    InProcessProvider,
    ask,
    chat_call,
    function_call,
    openai_error,
    response,
)


@pytest.mark.parametrize("api", Api)
def test_a_content_filter_is_no_refusal_of_the_form(api: Api) -> None:
    refused = openai_error(f"Filtered: {QUESTION[1].content}", param="prompt", code="content_filter")
    provider = InProcessProvider(refused)
    with pytest.raises(AnswerRefused) as raised:
        ask(provider.model(api))
    assert QUESTION[1].content not in str(raised.value)
    assert len(provider.bodies) == 1


@pytest.mark.parametrize(
    "reply",
    [
        openai_error("The word content_filter is no parameter.", param="content_filter"),
        openai_error("Invalid prompt: the messages must end with one of the user.", code="invalid_prompt"),
        (403, {"error": {"message": "This key has no access to the model.", "code": "permission_denied"}}),
        (403, None),
    ],
)
def test_a_request_that_is_refused_for_other_reasons_is_no_refused_answer(reply: Any) -> None:
    with pytest.raises(ModelUnavailable):
        ask(InProcessProvider(reply).model())


NO_NAMES = (
    *("multi_tool_use.parallel", " functions.x ", "", "a" * 80, "s\u00fcch", "a\nb", "a" * 100_000, "{}"),
    *("<search_all>", "\u3002", "9", "-", "search answer", None, ["search"]),
)


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_is_no_name_is_repaired_for_the_next_request(api: Api, name: Any) -> None:
    reply = chat_call(name) if api is Api.CHAT else response(function_call(name=name))
    provider = InProcessProvider(reply)
    turn = ask(provider.model(api))
    said = ChatMessage(role="assistant", content="", tool_calls=turn.tool_calls, opaque=turn.opaque)
    result = ChatMessage(role="tool", content="{}", tool_call_id=turn.tool_calls[0].id)
    ask(provider.model(api), messages=(*QUESTION, said, result))
    sent = json.dumps(provider.bodies[-1])
    names = re.findall(r'"name": "([^"]*)", "arguments"', sent)
    assert len(names) == 1 and re.fullmatch("[A-Za-z_][A-Za-z0-9_-]{0,63}", names[0])
    assert {turn.tool_calls[0].name, names[0]}.isdisjoint(("search", "answer"))


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize(
    "name", ["functions.search", "default_api:search", "search<|channel|>json", " Search\n", "search:0"]
)
def test_a_name_within_a_template_is_the_name(api: Api, name: str) -> None:
    reply = chat_call(name) if api is Api.CHAT else response(function_call(name=name))
    assert ask(InProcessProvider(reply).model(api)).tool_calls[0].name == "search"


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e999", "9" * 5_000, "-7", "true", '"7"', "null", "0.5", "[7]"]
)
def test_numbers_of_a_provider_are_counts_or_nothing(api: Api, number: str) -> None:
    status, body = chat_call() if api is Api.CHAT else response(function_call())
    names = ("prompt_tokens", "completion_tokens") if api is Api.CHAT else ("input_tokens", "output_tokens")
    body["usage"] = dict.fromkeys(names, 4711) | {f"{names[0]}_details": {"cached_tokens": 4711}}
    content = json.dumps(body).replace("4711", number).encode()
    usage = ask(InProcessProvider(httpx2.Response(status, content=content)).model(api)).usage
    assert usage == TokenUsage()


@pytest.mark.parametrize("api", Api)
def test_parts_of_a_count_are_at_most_the_whole(api: Api) -> None:
    status, body = chat_call() if api is Api.CHAT else response(function_call())
    name = "prompt_tokens_details" if api is Api.CHAT else "input_tokens_details"
    body["usage"][name] = {"cached_tokens": 70, "cache_write_tokens": 70}
    usage = ask(InProcessProvider((status, body)).model(api)).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (100, 70, 30)


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_no_text_cost_no_answer(api: Api, before: bytes) -> None:
    status, body = chat_call() if api is Api.CHAT else response(function_call())
    content = before + json.dumps(body | {"model": "m?", "note": "a?b"}).encode().replace(b"?", b"\xff")
    turn = ask(InProcessProvider(httpx2.Response(status, content=content)).model(api))
    assert (turn.tool_calls[0].name, turn.model) == ("search", "m\ufffd")


@pytest.mark.parametrize("api", Api)
def test_the_name_of_a_model_is_cut(api: Api) -> None:
    status, body = chat_call() if api is Api.CHAT else response(function_call())
    body["model"] = "a model\n" * 10_000
    model = ask(InProcessProvider((status, body)).model(api)).model
    assert model.startswith("a model a model") and len(model) <= 100
