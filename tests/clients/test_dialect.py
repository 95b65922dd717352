"""What changes when a provider refuses a request. The texts are those of real refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._adaptation import Refusal, adapt
from gleaner.clients._dialect import REPLAYED_ITEMS, Api, Dialect, Forcing, first_dialect, with_schema, without_schema

CHAT = first_dialect(Api.CHAT, Api, "a-model", None)
ONLY_CHAT = first_dialect(Api.CHAT, {Api.CHAT}, "a-model", None)
RESPONSES = first_dialect(Api.RESPONSES, Api, "a-model", None)
ONLY_RESPONSES = first_dialect(Api.RESPONSES, {Api.RESPONSES}, "a-model", None)
USE_RESPONSES = (
    "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function "
    "tools, use /v1/responses or set reasoning_effort to 'none'."
)
NEWER = {"include", "reasoning", "prompt_cache_breakpoint"}


def refusal(message: str, *, status: int = 400, param: str = "", code: str = "") -> Refusal:
    return Refusal(status=status, code=code, param=param, message=message)


@pytest.mark.parametrize(
    "message",
    [
        USE_RESPONSES,
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use "
        "/v1/responses instead.",
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "The model 'openai.gpt-5.6-terra' does not support the '/v1/chat/completions' API",
        f"litellm.BadRequestError: OpenAIException - {USE_RESPONSES}",
    ],
)
def test_chat_completions_that_point_to_responses_are_left(message: str) -> None:
    adapted = adapt(CHAT, refusal(message, param="reasoning_effort"), {CHAT})
    assert adapted == RESPONSES
    assert adapt(ONLY_CHAT, refusal(message), {ONLY_CHAT}) != RESPONSES


def test_chat_completions_that_must_be_used_send_the_effort_that_is_wanted() -> None:
    adapted = adapt(ONLY_CHAT, refusal(USE_RESPONSES, param="reasoning_effort"), {ONLY_CHAT})
    assert adapted is not None and (adapted.api, adapted.effort) == (Api.CHAT, "none")
    refused = refusal(
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', "
        "'medium', 'high', and 'xhigh'.",
        param="reasoning_effort",
        code="unsupported_value",
    )
    lowest = adapt(adapted, refused, {ONLY_CHAT, adapted})
    assert lowest is not None and lowest.effort == "low"


@pytest.mark.parametrize(
    ("status", "message", "param", "code"),
    [
        (404, '{"detail": "Not Found"}', "", ""),
        (404, '"404 page not found"', "", ""),
        (404, '""', "", ""),
        (404, "Invalid URL (POST /v1/responses)", "", ""),
        (405, '{"detail": "Method Not Allowed"}', "", ""),
    ],
)
def test_an_unknown_route_leads_to_chat_completions(status: int, message: str, param: str, code: str) -> None:
    refused = refusal(message, status=status, param=param, code=code)
    adapted = adapt(RESPONSES, refused, {RESPONSES})
    assert adapted == ONLY_CHAT  # and never back
    assert adapt(ONLY_RESPONSES, refused, {ONLY_RESPONSES}) is None


def test_an_unknown_route_of_chat_completions_changes_nothing() -> None:
    assert adapt(CHAT, refusal('{"detail": "Not Found"}', status=404), {CHAT}) is None


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("The model `gpt-7` does not exist or you do not have access to it.", "", "model_not_found"),
        ("The requested model 'x' does not exist.", "model", ""),
        ("The API deployment for this resource does not exist.", "", "DeploymentNotFound"),
        ("No endpoints found.", "", "model_not_found"),
    ],
)
def test_an_unknown_model_is_no_unknown_route(message: str, param: str, code: str) -> None:
    assert adapt(RESPONSES, refusal(message, status=404, param=param, code=code), {RESPONSES}) is None


def test_an_item_that_is_not_found_is_rebuilt() -> None:
    message = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    for param in ("input", ""):
        adapted = adapt(RESPONSES, refusal(message, status=404, param=param), {RESPONSES})
        assert adapted is not None
        assert (adapted.api, adapted.omitted) == (Api.RESPONSES, {REPLAYED_ITEMS})


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("The encrypted content gAAA...Rg== could not be verified.", "", "invalid_encrypted_content"),
        ("Unknown parameter: 'input[1].status'.", "input[1].status", "unknown_parameter"),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input", ""),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "", ""),
        ("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", "", ""),
    ],
)
def test_items_that_are_not_taken_back_are_rebuilt(message: str, param: str, code: str) -> None:
    adapted = adapt(RESPONSES, refusal(message, param=param, code=code), {RESPONSES})
    assert adapted is not None and adapted.omitted == {REPLAYED_ITEMS}
    assert adapt(adapted, refusal(message, param=param, code=code), {RESPONSES, adapted}) is None


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("Encrypted content is not supported with this model.", "include", ""),
        (
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "reasoning.effort",
            "unsupported_parameter",
        ),
    ],
)
def test_a_model_without_reasoning_is_recognized_by_one_refusal(message: str, param: str, code: str) -> None:
    adapted = adapt(RESPONSES, refusal(message, param=param, code=code), {RESPONSES})
    assert adapted is not None and adapted.omitted == NEWER
    assert not any(adapted.sends(field) for field in NEWER)


@pytest.mark.parametrize(
    ("message", "param", "field"),
    [
        ("prompt_cache_breakpoint is not supported on this model", "", "prompt_cache_breakpoint"),
        ("Unknown parameter: 'input[0].content[0].prompt_cache_breakpoint'.", "", "prompt_cache_breakpoint"),
        ("Unknown parameter.", "input[0].content[0].prompt_cache_breakpoint", "prompt_cache_breakpoint"),
        ("Unsupported parameter: prompt_cache_key", "", "prompt_cache_key"),
        ("Unknown parameter: 'store'.", "store", "store"),
        ('Invalid JSON payload received. Unknown name "extra_content": Cannot find field.', "", "extra_content"),
        ("[{'type': 'extra_forbidden', 'loc': ['body', 'store']}]", "", "store"),
        ('{"detail": [{"loc": ["body", "messages", 3, "assistant", "reasoning_content"]}]}', "", "reasoning_content"),
    ],
)
def test_an_optional_field_that_is_named_is_left_out(message: str, param: str, field: str) -> None:
    adapted = adapt(RESPONSES, refusal(message, param=param), {RESPONSES})
    assert adapted is not None and adapted.omitted == {field}


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        '{"detail": [{"type": "extra_forbidden", "loc": ["body", "max_tokens"]}]}',
    ],
)
def test_the_output_is_bounded_by_another_name_and_then_not_at_all(message: str) -> None:
    adapted = adapt(CHAT, refusal(message, param="max_tokens"), {CHAT})
    assert adapted is not None and adapted.output_limits == ("max_completion_tokens",)
    both = refusal("max_tokens and max_completion_tokens are not supported")
    unbounded = adapt(adapted, both, {CHAT, adapted})
    assert unbounded is not None and unbounded.output_limits == ()


@pytest.mark.parametrize(
    ("wanted", "listed", "chosen"),
    [
        ("low", "'none', 'medium', and 'high'", "medium"),
        ("low", "'high'", "high"),
        ("minimal", "'none', 'low', 'medium', and 'high'", "none"),
        ("max", "'low', 'medium', 'high', and 'xhigh'", "xhigh"),
        ("none", "'minimal', 'low', 'medium', and 'high'", "minimal"),
    ],
)
def test_the_nearest_effort_that_is_listed_is_taken(wanted: str, listed: str, chosen: str) -> None:
    dialect = first_dialect(Api.RESPONSES, Api, "a-model", wanted)
    message = f"Unsupported value: '{wanted}' is not supported with the 'x' model. Supported values are: {listed}."
    adapted = adapt(dialect, refusal(message, param="reasoning.effort", code="unsupported_value"), {dialect})
    assert adapted is not None and adapted.effort == chosen


@pytest.mark.parametrize(
    "message",
    [
        "Unrecognized request argument supplied: reasoning_effort",
        "litellm.UnsupportedParamsError: openai does not support parameters: ['reasoning_effort'], for model=o4-mini.",
    ],
)
def test_an_effort_that_is_unknown_is_left_out(message: str) -> None:
    dialect = first_dialect(Api.CHAT, Api, "a-model", "low")
    adapted = adapt(dialect, refusal(message), {dialect})
    assert adapted is not None and adapted.effort is None


@pytest.mark.parametrize(
    ("message", "forcing"),
    [
        ("Thinking mode does not support this tool_choice", Forcing.AUTO),
        ("No endpoints found that support the provided 'tool_choice' value.", Forcing.AUTO),
        ("Invalid tool_choice: required", Forcing.AUTO),
        ('tool_choice="required" requires --tool-call-parser to be set', Forcing.SCHEMA),
        ("No endpoints found that support tool use.", Forcing.SCHEMA),
        ("registry.ollama.ai/library/llama3:8b does not support tools", Forcing.SCHEMA),
        ("Failed to initialize samplers: failed to parse grammar", Forcing.SCHEMA),
    ],
)
def test_a_call_is_asked_for_in_a_weaker_way(message: str, forcing: Forcing) -> None:
    adapted = adapt(CHAT, refusal(message), {CHAT})
    assert adapted is not None and adapted.forcing is forcing


def test_responses_name_the_callable_tools_then_require_then_ask() -> None:
    refused = refusal("Tool choices other than 'auto' are not supported", param="tool_choice")
    tried = [RESPONSES]
    while (adapted := adapt(tried[-1], refused, tried)) is not None:
        tried.append(adapted)
    assert [dialect.forcing for dialect in tried] == [Forcing.ALLOWED, Forcing.REQUIRED, Forcing.AUTO]


def test_a_schema_is_not_used_where_it_was_refused() -> None:
    assert with_schema(without_schema(CHAT)) is None


def test_only_chat_completions_have_schemas() -> None:
    assert with_schema(RESPONSES) is None


def test_a_refusal_that_names_nothing_changes_nothing() -> None:
    assert adapt(CHAT, refusal("Your prompt was filtered.", param="prompt", code="content_filter"), {CHAT}) is None
    assert adapt(RESPONSES, refusal("Invalid prompt.", code="invalid_prompt"), {RESPONSES}) is None


@pytest.mark.parametrize(
    ("model", "omitted", "limit"),
    [
        ("gpt-6-luna", set(), "max_completion_tokens"),
        ("gpt-6.1-terra", set(), "max_completion_tokens"),
        ("us.openai.gpt-6-luna", set(), "max_completion_tokens"),
        ("gpt-5.6-luna", set(), "max_completion_tokens"),
        ("gpt-5.5", {"prompt_cache_breakpoint"}, "max_completion_tokens"),
        ("gpt-5-mini", {"prompt_cache_breakpoint"}, "max_completion_tokens"),
        ("gpt-5", {"prompt_cache_breakpoint"}, "max_completion_tokens"),
        ("gpt-5.10", set(), "max_completion_tokens"),
        ("o4-mini", {"prompt_cache_breakpoint"}, "max_completion_tokens"),
        ("gpt-4.1-mini", NEWER, "max_tokens"),
        ("gpt-4o", NEWER, "max_tokens"),
        ("gpt-oss:20b", set(), "max_tokens"),
        ("openai/gpt-6-luna", set(), "max_tokens"),
        ("my-deployment", set(), "max_tokens"),
        ("mistral-small-2603", set(), "max_tokens"),
        ("ollama3", set(), "max_tokens"),
    ],
)
def test_names_of_openai_models_shape_the_first_request(model: str, omitted: Any, limit: str) -> None:
    dialect = first_dialect(Api.CHAT, Api, model, None)
    assert (dialect.omitted, dialect.output_limits[0]) == (omitted, limit)


WORDS = (
    "reasoning_effort reasoning.effort 'none' 'low' supported values are to max_tokens max_completion_tokens "
    "max_output_tokens tool_choice does not support tools grammar response_format json_schema store include "
    "'reasoning' prompt_cache_key prompt_cache_breakpoint extra_content input /v1/responses item with id not found"
).split()
REFUSALS = st.builds(
    Refusal,
    status=st.sampled_from([400, 404, 405, 422, 501]),
    code=st.sampled_from(["", "400", "unsupported_parameter", "invalid_encrypted_content", "model_not_found"]),
    param=st.sampled_from(["", "input", "include", "reasoning.effort", "tool_choice", "max_tokens", "store"]),
    message=st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
)


@given(first=st.sampled_from([CHAT, ONLY_CHAT, RESPONSES, ONLY_RESPONSES]), refusals=st.lists(REFUSALS, min_size=1))
def test_every_sequence_of_refusals_ends(first: Dialect, refusals: list[Refusal]) -> None:
    tried = [first]
    for turn in range(100):
        adapted = adapt(tried[-1], refusals[turn % len(refusals)], tried)
        if adapted is None:
            break
        assert adapted not in tried
        assert adapted.api in first.apis
        tried.append(adapted)
    assert len(tried) < 60


def test_an_api_that_is_left_starts_from_the_beginning() -> None:
    dialect = replace(first_dialect(Api.RESPONSES, Api, "gpt-5.4", "high"), omitted=frozenset(("store",)))
    adapted = adapt(dialect, refusal("404 page not found", status=404), {dialect})
    assert adapted == first_dialect(Api.CHAT, {Api.CHAT}, "gpt-5.4", "high")
