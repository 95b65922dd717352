"""The client of the language model: what it asks, how it adapts to refusals, and what it remembers and logs."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import httpx2
import pytest

from gleaner.clients._dialect import Forcing
from gleaner.clients.chat_model import Api, connect
from gleaner.errors import ContextTooLong, ModelUnavailable
from gleaner.model import ChatMessage, ModelTurn
from tests.doubles.in_process_provider import (
    QUESTION,
    InProcessProvider,
    Json,
    ask,
    chat_call,
    chat_message,
    function_call,
    message_item,
    openai_error,
    reasoning,
    response,
)

TEXT = "Use the tool_choice that I want"  # of the conversation; a body may quote it
CALL = chat_call()
BY_SCHEMA = chat_message({"content": 'Here: {"tool": "search", "arguments": {"query": "x"}}'})
PLAIN = chat_message({"content": "I would say so."})
GEMINI = 'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.'
MISTRAL = {"type": "extra_forbidden", "loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted"}
LITELLM = "litellm.UnsupportedParamsError: openai does not support parameters: ['max_tokens'], for model=x."
VLLM = "[{'type': 'extra_forbidden', 'loc': ('body', 'max_tokens'), 'msg': 'Extra inputs are not permitted'}]"


def after(turn: ModelTurn) -> list[ChatMessage]:
    """The conversation with a turn and the results of its calls."""
    said = ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)
    return [*QUESTION, said, *(ChatMessage(role="tool", content="{}", tool_call_id=c.id) for c in turn.tool_calls)]


@pytest.mark.parametrize(
    "reply",
    [
        openai_error("Unsupported parameter: 'max_tokens' is not supported.", param="max_tokens"),
        openai_error("Invalid value.", param="max_tokens"),
        (400, [{"error": {"code": 400, "message": GEMINI, "status": "INVALID_ARGUMENT"}}]),
        (400, {"error": "Unknown field: 'max_tokens'"}),
        (422, {"object": "error", "message": {"detail": [MISTRAL]}, "type": "invalid_request_error", "param": None}),
        (422, {"detail": [MISTRAL]}),
        (400, {"error": {"message": LITELLM, "type": "invalid_request_error", "param": None, "code": "400"}}),
        (400, {"object": "error", "message": VLLM, "type": "BadRequestError", "param": None, "code": 400}),
        (400, "max_tokens is unknown"),
        httpx2.Response(400, text="max_tokens is unknown"),
        httpx2.Response(
            400,
            content=json.dumps({"error": {"message": "max_tokens is unknown"}}).encode(),
            headers={"content-type": "application/octet-stream"},
        ),
    ],
)
def test_a_refusal_is_understood_wherever_the_body_says_it(reply: Any) -> None:
    provider = InProcessProvider(reply, CALL)
    model = provider.model()
    assert ask(model).tool_calls[0].name == "search"
    ask(model)
    limits = [[name for name in body if name.startswith("max_")] for body in provider.bodies]
    assert limits == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


@pytest.mark.parametrize("body", [None, [], {}, {"error": None}, {"error": []}, {"error": {"message": 7}}, "", 3])
@pytest.mark.parametrize("status", [400, 404, 405, 413, 422, 501])
def test_a_refusal_that_says_nothing_is_final(status: int, body: Any) -> None:
    provider = InProcessProvider((status, body))
    model = provider.model(apis=[Api.CHAT])
    with pytest.raises(ContextTooLong if status == 413 else ModelUnavailable):
        ask(model)
    assert len(provider.bodies) == 1


@pytest.mark.parametrize("code", [400, 422, 404])
def test_a_sequence_of_refusals_ends(code: int) -> None:
    names = "'max_tokens' 'max_completion_tokens' tool_choice tools not supported response_format reasoning_effort"
    provider = InProcessProvider(openai_error(names, status=code))
    model = provider.model()
    dialect = model.dialect
    with pytest.raises(ModelUnavailable):
        ask(model)
    assert len(provider.bodies) < 9
    assert len({json.dumps(body) for body in provider.bodies}) == len(provider.bodies)
    assert model.dialect == dialect  # what did not help is not remembered


@pytest.mark.parametrize(
    "reply",
    [
        (404, {"detail": "Not Found"}),
        (405, {"detail": "Method Not Allowed"}),
        httpx2.Response(404, text="404 page not found"),
        httpx2.Response(404),
        openai_error("Invalid URL (POST /v1/responses)", status=404),
    ],
)
def test_an_unknown_route_is_remembered(reply: Any) -> None:
    provider = InProcessProvider(reply, CALL)
    model = provider.model(Api.RESPONSES)
    ask(model)
    ask(model)
    assert provider.paths == ["/responses", "/chat/completions", "/chat/completions"]


def test_a_service_that_knows_no_route_at_all_is_asked_for_both_again() -> None:
    provider = InProcessProvider((404, {"detail": "Not Found"}))
    model = provider.model(Api.RESPONSES)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match=r"refused the request \(404\)"):
            ask(model)
    assert provider.paths == ["/responses", "/chat/completions"] * 2


@pytest.mark.parametrize(
    "reply",
    [
        openai_error("The model `x` does not exist.", status=404, code="model_not_found"),
        openai_error("The model `x` does not exist.", status=404, param="model"),
        (404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}}),
    ],
)
def test_an_unknown_model_does_not_change_the_api(reply: Any) -> None:
    provider = InProcessProvider(reply)
    with pytest.raises(ModelUnavailable, match="404"):
        ask(provider.model(Api.RESPONSES))
    assert provider.paths == ["/responses"]


def test_an_unknown_item_is_sent_in_another_form_and_never_stored() -> None:
    lost = openai_error(
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` "
        "set to true, or remove this item from your input.",
        status=404,
        param="input",
    )
    provider = InProcessProvider(response(reasoning(), function_call()), lost, response(function_call()))
    model = provider.model(Api.RESPONSES)
    ask(model, messages=after(ask(model)))
    assert provider.paths == ["/responses"] * 3
    assert [item.get("type") for item in provider.bodies[2]["input"]][2:] == ["function_call", "function_call_output"]
    assert all(body["store"] is False for body in provider.bodies)
    assert not any("id" in item for item in provider.bodies[2]["input"])
    provider.replies = [lost]
    with pytest.raises(ModelUnavailable):
        ask(model)
    assert all(body["store"] is False for body in provider.bodies)


def test_reasoning_that_cannot_be_decrypted_is_left_out() -> None:
    refused = openai_error("The encrypted content gAAA...Rg== could not be verified.", code="invalid_encrypted_content")
    provider = InProcessProvider(response(reasoning(), function_call()), refused, response(function_call()))
    model = provider.model(Api.RESPONSES)
    ask(model, messages=after(ask(model)))
    assert "gAAAA1" in json.dumps(provider.bodies[1]) and "gAAAA1" not in json.dumps(provider.bodies[2])


def test_a_model_of_responses_only_is_asked_that_way_from_then_on() -> None:
    message = "This model is only supported in v1/responses and not in v1/chat/completions."
    provider = InProcessProvider(openai_error(message, status=404, param="model"), response(function_call()))
    model = provider.model()
    ask(model)
    ask(model)
    assert provider.paths == ["/chat/completions", "/responses", "/responses"]


@pytest.mark.parametrize(
    ("api", "refused"),
    [
        (Api.RESPONSES, (404, {"detail": "Not Found"})),
        (Api.CHAT, openai_error("This model is only supported in v1/responses.", status=404, param="model")),
    ],
)
def test_an_api_that_is_configured_is_never_left(api: Api, refused: Any) -> None:
    provider = InProcessProvider(refused)
    with pytest.raises(ModelUnavailable):
        ask(provider.model(api, apis=[api]))
    assert set(provider.paths) == {"/responses" if api is Api.RESPONSES else "/chat/completions"}


@pytest.mark.parametrize(
    ("base_url", "api"),
    [
        (None, Api.RESPONSES),
        ("https://api.openai.com/v1", Api.RESPONSES),
        ("https://mine.openai.azure.com/openai/v1/", Api.RESPONSES),
        ("https://mine.services.ai.azure.com/openai/v1/", Api.RESPONSES),
        ("https://eu.api.openai.com/v1", Api.RESPONSES),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", Api.CHAT),
        ("https://notapi.openai.com.example.org/v1", Api.CHAT),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", Api.CHAT),
        ("http://localhost:11434/v1", Api.CHAT),
    ],
)
def test_the_host_says_which_api_is_first(base_url: str | None, api: Api) -> None:
    model = connect(api_key=lambda: "k", base_url=base_url, model="m", max_output_tokens=1)
    assert model.dialect.api is api
    assert model.dialect.apis == set(Api)


def test_an_api_that_is_configured_is_the_only_one() -> None:
    model = connect(api_key=lambda: "k", base_url=None, model="m", max_output_tokens=1, api=Api.CHAT, effort="high")
    assert (model.dialect.api, model.dialect.apis, model.dialect.effort) == (Api.CHAT, {Api.CHAT}, "high")


def test_two_threads_that_meet_the_same_refusal_both_get_an_answer() -> None:
    both = threading.Barrier(2, timeout=60)

    def reply(body: Json) -> tuple[int, Any]:
        if "max_tokens" not in body:
            return CALL
        both.wait()
        return 400, {"error": {"message": "'max_tokens' is not supported"}}

    provider = InProcessProvider(reply)
    model = provider.model()
    turns: list[ModelTurn] = []
    threads = [threading.Thread(target=lambda: turns.append(ask(model))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [turn.tool_calls[0].name for turn in turns] == ["search", "search"]
    assert len(provider.bodies) == 4
    assert model.dialect.output_limits == ("max_completion_tokens",)


def test_what_one_thread_has_learned_is_kept_when_another_ends_later() -> None:
    adapted = threading.Event()

    def reply(body: Json) -> tuple[int, Any]:
        if len(provider.bodies) == 1:
            adapted.wait(60)
            return CALL
        return CALL if "max_tokens" not in body else (400, {"error": {"message": "'max_tokens' is not supported"}})

    provider = InProcessProvider(reply)
    model = provider.model()
    slow = threading.Thread(target=lambda: ask(model))
    slow.start()
    while not provider.bodies:
        pass
    ask(model)
    adapted.set()
    slow.join(20)
    assert model.dialect.output_limits == ("max_completion_tokens",)


def test_a_refusal_is_logged_without_its_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "gleaner")
    refused = openai_error(f"Unsupported: {TEXT} 'max_tokens'", param="max_tokens", code="unsupported_parameter")
    provider = InProcessProvider(refused, openai_error(f"No: {TEXT}"))
    with pytest.raises(ModelUnavailable) as raised:
        ask(provider.model(apis=[Api.CHAT]))
    first: Any = caplog.records[0]
    assert (first.status, first.code, first.param) == (400, "unsupported_parameter", "max_tokens")
    assert first.adapted is True
    assert TEXT not in f"{[record.__dict__ for record in caplog.records]} {raised.value}"


def test_a_final_refusal_names_code_and_parameter() -> None:
    refused = openai_error(f"Not here: {QUESTION[1].content}", param="prompt", code="unsupported_country")
    with pytest.raises(ModelUnavailable) as raised:
        ask(InProcessProvider(refused).model())
    assert str(raised.value) == "The language model refused the request (400, code unsupported_country, param prompt)."


@pytest.mark.parametrize(
    "reply",
    [
        openai_error("x", code="context_length_exceeded"),
        openai_error("This model's maximum context length is 4096 tokens."),
        (400, {"error": "The number of tokens is greater than the context length"}),
        (413, None),
    ],
)
def test_a_conversation_that_is_too_long_is_no_refusal(reply: Any) -> None:
    provider = InProcessProvider(reply)
    with pytest.raises(ContextTooLong):
        ask(provider.model())
    assert len(provider.bodies) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, "
        "6048 in the completion).",
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. The model's context length is 4096 tokens.",
    ],
)
def test_an_output_that_leaves_no_room_is_not_bounded(message: str) -> None:
    provider = InProcessProvider(openai_error(message), CALL)
    model = provider.model()
    assert ask(model).tool_calls[0].name == "search"
    assert not any(name.startswith("max_") for name in provider.bodies[1])
    still = openai_error("This model's maximum context length is 6048 tokens. However, you requested 7000 tokens.")
    provider = InProcessProvider(openai_error(message), still)
    with pytest.raises(ContextTooLong):
        ask(provider.model())
    assert len(provider.bodies) == 2


def test_plain_text_leads_to_a_schema_which_is_remembered() -> None:
    provider = InProcessProvider(PLAIN, BY_SCHEMA)
    model = provider.model()
    turn = ask(model)
    assert (turn.tool_calls[0].name, turn.tool_calls[0].arguments, turn.content) == ("search", '{"query": "x"}', "")
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (200, 20)  # the wasted call is paid for, too
    ask(model)
    assert ["tools" in body for body in provider.bodies] == [True, False, False]
    assert provider.bodies[2]["response_format"]["type"] == "json_schema"


def test_plain_text_of_a_model_that_has_called_is_an_exception() -> None:
    provider = InProcessProvider(CALL, PLAIN, BY_SCHEMA, CALL)
    model = provider.model()
    turns = [ask(model) for _ in range(3)]
    assert [turn.tool_calls[0].name for turn in turns] == ["search"] * 3
    assert ["tools" in body for body in provider.bodies] == [True, True, False, True]


def test_a_question_with_a_call_by_schema_goes_on_with_schemas() -> None:
    provider = InProcessProvider(CALL, PLAIN, BY_SCHEMA, BY_SCHEMA, CALL)
    model = provider.model()
    ask(model)
    ask(model, messages=after(ask(model)))
    ask(model)
    assert ["tools" in body for body in provider.bodies] == [True, True, False, False, True]


def test_a_schema_that_is_refused_is_never_tried_again() -> None:
    provider = InProcessProvider(PLAIN, openai_error("'response_format' is not supported"), PLAIN)
    model = provider.model()
    assert ask(model).content == "I would say so."
    assert ask(model).content == "I would say so."
    assert [("tools" in body, "response_format" in body) for body in provider.bodies] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert model.dialect.forcing is Forcing.REQUIRED


def test_a_schema_that_is_not_enforced_is_no_loop() -> None:
    provider = InProcessProvider(PLAIN)
    turn = ask(provider.model())
    assert (turn.content, turn.tool_calls, len(provider.bodies)) == ("I would say so.", (), 2)


def test_a_model_that_has_called_is_not_asked_again_for_json_that_it_does_not_write() -> None:
    provider = InProcessProvider(CALL, PLAIN)
    model = provider.model()
    for _ in range(4):
        ask(model)
    assert ["tools" in body for body in provider.bodies] == [True, True, False, True, True]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_was_cut_off_changes_nothing(reason: str) -> None:
    provider = InProcessProvider(chat_message({"content": "So"}, finish_reason=reason))
    model = provider.model()
    assert ask(model).finish_reason == reason
    assert (len(provider.bodies), model.dialect.forcing) == (1, Forcing.REQUIRED)


def test_plain_text_by_responses_changes_nothing() -> None:
    provider = InProcessProvider(response(message_item("I would say so.")))
    model = provider.model(Api.RESPONSES)
    assert ask(model).content == "I would say so."
    assert len(provider.bodies) == 1


def test_the_tools_of_a_request_by_schema_are_those_that_may_be_called() -> None:
    provider = InProcessProvider(PLAIN, BY_SCHEMA)
    model = provider.model()
    ask(model)
    ask(model, "search", "answer")
    one, two = (body["response_format"]["json_schema"]["schema"] for body in provider.bodies[1:])
    assert one["properties"]["tool"]["enum"] == ["search"]
    assert [schema["properties"]["tool"]["enum"] for schema in two["anyOf"]] == [["search"], ["answer"]]


@pytest.mark.parametrize(
    "first",
    [
        (200, {"choices": None, "error": {"message": "Provider returned error", "code": 429}}),
        (200, {"choices": [{"error": {"code": 502}, "finish_reason": "error", "message": {"content": ""}}]}),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(500, headers={"retry-after": "0"}),
        httpx2.Response(429, headers={"retry-after": "0"}),
    ],
)
def test_what_passes_is_asked_again(first: Any) -> None:
    provider = InProcessProvider(first, CALL)
    assert ask(provider.model()).tool_calls[0].name == "search"
    assert len(provider.bodies) == 2


def test_a_response_that_failed_is_asked_for_again() -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "secret"})
    provider = InProcessProvider(failed, response(function_call()))
    assert ask(provider.model(Api.RESPONSES)).tool_calls[0].name == "search"
    provider = InProcessProvider(failed)
    with pytest.raises(ModelUnavailable) as raised:
        ask(provider.model(Api.RESPONSES))
    assert "secret" not in str(raised.value)
    assert len(provider.bodies) == 2


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_no_refusal_of_the_form(status: int) -> None:
    provider = InProcessProvider(openai_error("bad key for tool_choice", status=status))
    with pytest.raises(ModelUnavailable, match="key"):
        ask(provider.model())
    assert len(provider.bodies) == 1
