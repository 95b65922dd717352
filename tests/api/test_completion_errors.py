"""Errors of OpenAI's API: their form and status, what is refused and why, and what clients send again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIError, APIStatusError, InternalServerError, OpenAI
from openai.types.chat import completion_create_params as sdk

from gleaner.api.protocols.chat_completion_request import IGNORED, REFUSED, CompletionRequest
from tests.api.completions import IMAGE, PATH, QUESTION, Door, user
from tests.api.serving import serving
from tests.conftest import Client, make_api, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search

NAMED = {"type": "function", "function": {"name": "look"}}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


@pytest.fixture(scope="module")
def client(environment: dict[str, str]) -> Client:
    """One process for all tests, as in a Lambda environment."""
    return Client(make_api(environment))


@pytest.fixture
def openai(client: Client) -> Iterator[OpenAI]:
    """OpenAI's own client."""
    with serving(client) as address:
        yield OpenAI(base_url=f"{address}/v1", api_key="any")  # pragma: allowlist secret


def plays(model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))


def test_every_field_of_openais_requests_is_used_refused_or_ignored() -> None:
    fields = set(sdk.CompletionCreateParamsBase.__annotations__) | {"stream"}
    used = set(CompletionRequest.model_fields) - set(REFUSED)
    assert not used & IGNORED and not REFUSED.keys() & IGNORED
    assert used | REFUSED.keys() | IGNORED == fields


@pytest.mark.parametrize(
    ("body", "param", "reason"),
    [
        ({"n": 2}, "n", "must be 1"),
        ({"logprobs": True}, "logprobs", "checked text"),
        ({"top_logprobs": 3}, "top_logprobs", "checked text"),
        ({"audio": {"voice": "x", "format": "mp3"}}, "audio", "text alone"),
        ({"modalities": ["text", "audio"]}, "modalities", "text alone"),
        ({"moderation": {"model": "omni-moderation-latest"}}, "moderation", "checks of its own"),
        ({"response_format": {"type": "json_object"}}, "response_format", "of the type text"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format", "of the type text"),
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_choice", "auto or none"),
        ({"tools": TOOLS, "tool_choice": NAMED}, "tool_choice", "auto or none"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required"}}},
            *("tool_choice", "auto or none"),
        ),
        ({"function_call": {"name": "look"}}, "function_call", "auto or none"),
        ({"messages": [user([{"type": "text", "text": "What?"}, IMAGE])]}, "messages", "images"),
        ({"messages": [user(), user([{"type": "input_audio"}])]}, "messages", "audio"),
        ({"messages": [user([{"type": "file", "file": {}}])]}, "messages", "files"),
        ({"messages": [user([{"type": "video_url"}])]}, "messages", "parts of the type text"),
        ({"messages": [user([{"type": "text"}])]}, "messages", "parts of the type text"),
        ({"messages": [user(["What?"])]}, "messages", "parts of the type text"),
        ({"messages": [user(), {"role": "assistant", "content": "It is"}]}, "messages", "not continued"),
        ({"messages": [user(), {"role": "tool", "content": "{}"}]}, "messages", "role user"),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "messages", "role user"),
        ({"messages": [user(" \u200b ")]}, "messages", "not empty"),
        ({"messages": [{"role": "system", "content": "x" * 8_001}, user()]}, "messages", "At most 8,000"),
        ({"model": "gleaner-plain", "messages": [user("x" * 40_000)] * 2}, "messages", "at most 64,000"),
        ({"messages": [user("x" * 50_001)]}, "messages", "at most 50,000 characters"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role", "must be"),
        ({"messages": []}, "messages", "must not be empty"),
        ({"messages": "x"}, "messages", "must be a list"),
        ({"messages": ["x"]}, "messages[0]", "must be an object"),
        ({"stream_options": "x"}, "stream_options", "must be an object"),
        ({"messages": [user(7)]}, "messages[0].content", "must be a string"),
        ({"metadata": {"session_id": "mine"}}, "metadata.session_id", "an id from an earlier response"),
        ({"model": ""}, "model", "must not be empty"),
        ({"model": 7}, "model", "must be a string"),
        ({"stream": "maybe"}, "stream", "true or false"),
        ({"stream": "yes"}, "stream", "true or false"),
        ({"stream": 1}, "stream", "true or false"),
        ({"stream_options": {"include_usage": "on"}}, "stream_options.include_usage", "true or false"),
    ],
)
def test_what_cannot_be_given_is_refused_with_a_reason(
    door: Door, model: ScriptedModel, body: dict[str, Any], param: str, reason: str
) -> None:
    plays(model)
    for stream in {body.get("stream", True), body.get("stream", False)}:
        status, answered = door.ask(**{"stream": stream} | body)
        error = answered["error"]
        assert (status, error["type"], error["code"]) == (400, "invalid_request_error", "validation-failed")
        assert error["param"] == param
        assert reason in error["message"]
    assert model.requests == []


@pytest.mark.parametrize(
    "body",
    [
        {"temperature": 2, "top_p": 0.1, "seed": 1, "stop": ["\n"], "max_tokens": 5, "logit_bias": {"1": 3}},
        {"tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": False, "functions": [], "function_call": "none"},
        {"tools": TOOLS, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLS}}},
        {"n": 1, "logprobs": False, "top_logprobs": 0, "response_format": {"type": "text"}, "modalities": ["text"]},
        {"modalities": [], "audio": {}, "tools": [], "messages": [{"role": "system"}, user(), {"role": "assistant"}]},
        {"n": None, "response_format": None, "stream": None, "stream_options": None, "metadata": None, "user": None},
        {"metadata": {"chat": "7"}, "stream_options": {"include_usage": True, "include_obfuscation": False}},
        {"chat_id": "of Open WebUI", "features": {}, "keep_alive": "5m", "options": {"num_ctx": 1}, "min_p": 0},
        {
            "messages": [
                user([{"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}}]) | {"name": "A"}
            ]
        },
    ],
)
def test_what_only_tunes_a_model_is_ignored(door: Door, model: ScriptedModel, body: dict[str, Any]) -> None:
    plays(model)
    assert door.ask(**body)[0] == 200
    assert "temperature" not in model.bodies[0] and "num_ctx" not in str(model.bodies[0])


@pytest.mark.parametrize(
    ("event", "status", "code"),
    [
        (proxy_event("POST", "/v1/embeddings", "x"), 404, "not-found"),
        (proxy_event("GET", "/v1", "x"), 404, "not-found"),
        (proxy_event("POST", "/chat/completions", "x"), 404, "not-found"),
        (proxy_event("GET", "/models", "x"), 404, "not-found"),
        (proxy_event("GET", PATH, "x"), 405, "method-not-allowed"),
        (proxy_event("DELETE", "/v1/models", "x"), 405, "method-not-allowed"),
        (proxy_event("POST", PATH, "x") | {"body": "no"}, 400, "validation-failed"),
        (proxy_event("POST", PATH, "x") | {"body": "[" * 3_000_000}, 413, "payload-too-large"),
        (proxy_event("POST", PATH, "x") | {"headers": {"content-type": "text/plain"}}, 415, "unsupported-media-type"),
        (proxy_event("GET", "/v1/models/gpt-5.6", "x"), 404, "model_not_found"),
    ],
)
def test_every_error_has_openais_form(client: Client, event: dict[str, Any], status: int, code: str) -> None:
    response = client.send(event)
    [content_type] = response["multiValueHeaders"]["Content-Type"]
    error = json.loads(response["body"])["error"]
    assert (response["statusCode"], content_type, error["code"]) == (status, "application/json", code)
    assert error["type"] == "invalid_request_error" and error["message"]
    assert "x-should-retry" not in response["multiValueHeaders"]
    if status == 405:
        assert response["multiValueHeaders"]["Allow"]


def ask(openai: OpenAI, **more: Any) -> Any:
    return openai.chat.completions.create(model="gleaner", messages=[{"role": "user", "content": QUESTION}], **more)


def test_a_failed_question_is_not_asked_again_by_the_client(openai: OpenAI, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("No tool."))
    assert openai.max_retries == 2
    with pytest.raises(InternalServerError) as failure:
        ask(openai)
    assert failure.value.code == "mandatory-tool-missing" and failure.value.request_id
    assert len(model.requests) == 3  # the model's own second chance, and no second question


def test_openais_client_raises_what_ended_a_stream(openai: OpenAI, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("No tool."))
    with pytest.raises(APIError) as failure:
        list(ask(openai, stream=True))
    assert failure.value.code == "mandatory-tool-missing"
    assert not isinstance(failure.value, APIStatusError)
    assert len(model.requests) == 3


def test_openais_client_reads_answers_and_citations(openai: OpenAI, model: ScriptedModel) -> None:
    plays(model)
    [choice] = ask(openai).choices
    assert choice.message.content == "Merged. [kb-1]"
    [annotation] = choice.message.annotations
    assert annotation.url_citation.title == "Handbook – Keywords"
    plays(model)
    with openai.chat.completions.stream(
        model="gleaner", messages=[{"role": "user", "content": QUESTION}], stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Merged. [kb-1]"
    assert final.usage and final.usage.total_tokens == 220
    assert "gleaner:strict" in [item.id for item in openai.models.list()]
    assert openai.models.retrieve("gleaner:strict").id == "gleaner:strict"


def test_pages_may_send_what_openais_client_for_browsers_sends(settings: dict[str, str]) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://a.example"}))
    headers = {"origin": "https://a.example"}
    told: dict[str, set[str]] = {}
    for method, path in (("OPTIONS", PATH), ("GET", "/v1/models")):
        origin = {"headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}
        response = client.send(proxy_event(method, path, "x") | origin)
        for name, values in response["multiValueHeaders"].items():
            told.setdefault(name, set()).update(word.strip().lower() for word in ",".join(values).split(","))
    names = ("lang", "package-version", "os", "arch", "runtime", "runtime-version", "retry-count", "timeout")
    sent = {"authorization", "content-type", "openai-organization", "openai-project", "idempotency-key"}
    assert sent | {f"x-stainless-{name}" for name in names} <= told["Access-Control-Allow-Headers"]
    assert {"x-request-id", "x-should-retry", "retry-after"} <= told["Access-Control-Expose-Headers"]


def test_models_are_listed_without_a_body_to_head(client: Client) -> None:
    response = client.send(proxy_event("HEAD", "/v1/models", "x"))
    assert (response["statusCode"], response["body"]) == (200, "")
