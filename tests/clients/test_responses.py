"""Requests and answers of the Responses API, with any part of an answer missing or of another type."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._dialect import REPLAYED_ITEMS, Api, Forcing, first_dialect
from gleaner.clients._model_request import ModelRequest, UnreadableAnswer, read_object
from gleaner.clients._responses import read_turn, to_body
from gleaner.errors import AnswerRefused
from gleaner.model import ChatMessage, ModelTurn, ToolCall
from tests.clients.test_chat_completions import ANY_JSON, Path, assert_readable, changed, paths
from tests.doubles.in_process_provider import (
    ANSWER,
    QUESTION,
    SEARCH,
    function_call,
    message_item,
    reasoning,
    response,
)

REQUEST = ModelRequest(messages=QUESTION, tools=[SEARCH, ANSWER], callable_tools=[SEARCH], max_output_tokens=100)
DIALECT = first_dialect(Api.RESPONSES, Api, "gpt-6-luna", None)
WHOLE = response(
    reasoning(1, content=None),
    message_item("I search."),
    function_call(1),
    function_call(2),
    error=None,
    incomplete_details=None,
)[1]


def read(*items: Any, **fields: Any) -> ModelTurn:
    return read_turn(response(*items, **fields)[1], REQUEST, DIALECT)


def after(turn: ModelTurn) -> ModelRequest:
    said = ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)
    results = [ChatMessage(role="tool", content="{}", tool_call_id=call.id) for call in turn.tool_calls]
    return replace(REQUEST, messages=[*QUESTION, said, *results])


def replayed(turn: ModelTurn, dialect: Any = DIALECT) -> list[Any]:
    """What the next request sends of a turn, after the cache mark and the question."""
    items: list[Any] = to_body(after(turn), dialect)["input"]
    return items[2:]


@given(path=st.sampled_from(list(paths(WHOLE))), value=ANY_JSON, removed=st.booleans())
def test_any_part_may_be_missing_or_anything(path: Path, value: Any, removed: bool) -> None:
    try:
        turn = read_turn(read_object(changed(WHOLE, path, value, removed)), REQUEST, DIALECT)
    except UnreadableAnswer:
        assert path == ("output",)
        return
    assert_readable(turn)
    items = replayed(turn)
    json.dumps(items)
    called = [item["call_id"] for item in items if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert called == answered == [call.id for call in turn.tool_calls]


@given(st.binary(max_size=50) | ANY_JSON.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_response_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableAnswer):
        read_turn(read_object(body), REQUEST, DIALECT)


@given(items=st.lists(st.sampled_from([reasoning(), function_call(), message_item("x"), {"type": "new"}]) | ANY_JSON))
def test_any_list_of_items_can_be_read_and_sent_back(items: list[Any]) -> None:
    turn = read(*items)
    assert_readable(turn)
    sent = [item for item in replayed(turn) if item.get("type") != "function_call_output"]
    assert not sent or sent[-1].get("type") != "reasoning"


def test_nothing_is_stored_and_all_tools_are_offered() -> None:
    body = to_body(REQUEST, DIALECT)
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert [tool["name"] for tool in body["tools"]] == ["search", "answer"]
    assert all(set(tool) == {"type", "name", "description", "parameters", "strict"} for tool in body["tools"])
    assert body["tool_choice"] == {"type": "function", "name": "search"}
    assert (body["instructions"], body["max_output_tokens"]) == ("Be brief.", 100)
    assert body["reasoning"] == {"effort": "low"}


def test_several_callable_tools_are_named() -> None:
    body = to_body(replace(REQUEST, callable_tools=[SEARCH, ANSWER]), DIALECT)
    names = [{"type": "function", "name": "search"}, {"type": "function", "name": "answer"}]
    assert body["tool_choice"] == {"type": "allowed_tools", "mode": "required", "tools": names}


def test_only_callable_tools_are_offered_where_they_cannot_be_named() -> None:
    body = to_body(REQUEST, replace(DIALECT, forcing=Forcing.REQUIRED))
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["search"], "required")


def test_what_requests_share_comes_first_and_has_one_cache_key() -> None:
    first = to_body(REQUEST, DIALECT)
    other = [QUESTION[0], ChatMessage(role="user", content="another question")]
    second = to_body(replace(REQUEST, messages=other, callable_tools=[ANSWER]), DIALECT)
    assert first["prompt_cache_key"] == second["prompt_cache_key"]
    assert len(first["prompt_cache_key"]) <= 64
    assert first["tools"] == second["tools"] and first["instructions"] == second["instructions"]
    assert first["input"][0] == second["input"][0]
    assert first["input"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


def test_items_come_back_byte_for_byte_and_in_order() -> None:
    items = [
        reasoning(1),
        message_item("I search.", phase="commentary"),
        reasoning(2),
        function_call(1, arguments='{"query":  "ä"}'),
        function_call(2),
    ]
    turn = read(*items)
    sent = replayed(turn)
    assert [json.dumps(item) for item in sent[:5]] == [json.dumps(item) for item in items]
    outputs = [{"type": "function_call_output", "call_id": name, "output": "{}"} for name in ("call_1", "call_2")]
    assert sent[5:] == outputs


def test_reasoning_that_was_cut_off_is_not_sent_back() -> None:
    turn = read(reasoning(1), message_item("So"), reasoning(2), status="incomplete", incomplete_details={"reason": "x"})
    assert [item["id"] for item in replayed(turn)] == ["rs_1", "msg_So"]
    assert replayed(read(reasoning(1), status="incomplete")) == []


def test_reasoning_without_its_content_is_not_sent_back() -> None:
    turn = read(reasoning(1, encrypted_content=None), function_call())
    assert [item["type"] for item in replayed(turn)] == ["function_call", "function_call_output"]


def test_unknown_items_are_ignored() -> None:
    turn = read({"id": "x", "type": "compaction", "content": "opaque"}, reasoning(), function_call())
    assert [call.name for call in turn.tool_calls] == ["search"]
    assert [item["type"] for item in replayed(turn)] == ["reasoning", "function_call", "function_call_output"]


def test_a_turn_is_built_from_its_calls_where_items_are_not_taken_back() -> None:
    dialect = replace(DIALECT, omitted=frozenset((REPLAYED_ITEMS,)))
    sent = replayed(read(reasoning(), message_item("I search."), function_call()), dialect)
    call = {"type": "function_call", "call_id": "call_1", "name": "search", "arguments": '{"query": "x"}'}
    assert sent[:2] == [{"role": "assistant", "content": "I search."}, call]


def test_equal_call_ids_become_different() -> None:
    turn = read(function_call(1), function_call(1, id="fc_2"))
    assert len({call.id for call in turn.tool_calls}) == 2
    sent = replayed(turn)
    assert [item["call_id"] for item in sent[:2]] == [item["call_id"] for item in sent[2:]]


def test_several_messages_are_one_text() -> None:
    turn = read(message_item("One."), message_item("Two."))
    assert (turn.content, turn.tool_calls, turn.finish_reason) == ("One.\nTwo.", (), "stop")
    assert not turn.is_refused


def test_a_refusal_counts_unless_a_call_came_beside_it() -> None:
    refusal = message_item("No.", kind="refusal")
    assert read(message_item("One."), refusal).is_refused
    assert read(refusal, function_call(arguments='{"query": ')).is_refused
    assert not read(refusal, function_call()).is_refused
    assert not read(message_item("", kind="refusal")).is_refused


@pytest.mark.parametrize("code", ["bio_policy", "misalignment_policy_violation"])
def test_a_response_that_failed_for_a_policy_is_a_refused_answer(code: str) -> None:
    with pytest.raises(AnswerRefused):
        read(status="failed", error={"code": code, "message": "secret"})


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "steered"), (None, "")],
)
def test_an_incomplete_response_says_why(reason: str | None, finish_reason: str) -> None:
    turn = read(message_item("So"), status="incomplete", incomplete_details={"reason": reason})
    assert turn.finish_reason == finish_reason


def test_an_empty_output_is_an_empty_turn() -> None:
    turn = read()
    assert (turn.content, turn.tool_calls, turn.opaque) == ("", (), None)


@pytest.mark.parametrize(
    "fields",
    [{"status": "failed", "error": {"code": "server_error", "message": "secret"}}, {"status": "cancelled"}],
)
def test_a_response_that_failed_is_unreadable(fields: Any) -> None:
    with pytest.raises(UnreadableAnswer) as raised:
        read(reasoning(), **fields)
    assert "secret" not in str(raised.value)


def test_tokens_are_counted() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    counted = read(function_call(), usage=usage).usage
    assert (counted.input_tokens, counted.cached_input_tokens, counted.cache_write_tokens) == (100, 60, 30)
    assert (counted.output_tokens, counted.reasoning_tokens) == (20, 5)


def test_a_turn_by_chat_completions_is_built_from_its_calls() -> None:
    call = ToolCall(id="call_1", name="search", arguments="{}")
    opaque = {"message": {"reasoning_content": "opaque"}, "calls": [{}]}
    said = ChatMessage(role="assistant", content="", tool_calls=(call,), opaque=opaque)
    items = to_body(replace(REQUEST, messages=[*QUESTION, said]), DIALECT)["input"]
    assert items[2:] == [{"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{}"}]
