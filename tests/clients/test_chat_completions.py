"""Requests and answers of the chat completions API, with any part of an answer missing or of another type."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._chat_completions import read_turn, to_body
from gleaner.clients._dialect import Api, Dialect, Forcing, first_dialect
from gleaner.clients._model_request import ModelRequest, UnreadableAnswer, read_object
from gleaner.model import ChatMessage, ModelTurn, ToolCall
from tests.doubles.in_process_provider import ANSWER, QUESTION, SEARCH, chat_call
from tests.doubles.scripted_model import calls, search

WHOLE = calls(search("a"), search("b")) | {"error": None}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
REQUEST = ModelRequest(messages=QUESTION, tools=[SEARCH, ANSWER], callable_tools=[SEARCH], max_output_tokens=100)
DIALECT = first_dialect(Api.CHAT, Api, "a-model", None)
BY_SCHEMA = Dialect(api=Api.CHAT, apis=frozenset(Api), model="a-model", forcing=Forcing.SCHEMA)
Path = tuple[Any, ...]


def paths(value: Any, above: Path = ()) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*above, key)
        yield from paths(part, (*above, key))


def changed(whole: Any, path: Path, value: Any, removed: bool) -> bytes:
    answer = copy.deepcopy(whole)
    place: Any = answer
    for key in path[:-1]:
        place = place[key]
    if removed:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(answer).encode()


def assert_readable(turn: ModelTurn) -> None:
    ids = [call.id for call in turn.tool_calls]
    assert len(set(ids)) == len(ids) and all(ids)
    for text in (turn.content, turn.finish_reason, turn.model, *ids, *(call.arguments for call in turn.tool_calls)):
        text.encode()
    assert min(turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cached_input_tokens) >= 0


@given(path=st.sampled_from(list(paths(WHOLE))), value=ANY_JSON, removed=st.booleans(), schema=st.booleans())
def test_any_part_may_be_missing_or_anything(path: Path, value: Any, removed: bool, schema: bool) -> None:
    try:
        turn = read_turn(read_object(changed(WHOLE, path, value, removed)), REQUEST, BY_SCHEMA if schema else DIALECT)
    except UnreadableAnswer:
        assert path in (("choices",), ("choices", 0)) or path[:3] == ("choices", 0, "message") or path == ("error",)
        return
    assert_readable(turn)
    body = to_body(_after(turn), DIALECT)  # the next request can be made of it
    json.dumps(body)


def _after(turn: ModelTurn) -> ModelRequest:
    said = ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)
    results = [ChatMessage(role="tool", content="{}", tool_call_id=call.id) for call in turn.tool_calls]
    return ModelRequest(
        messages=[*QUESTION, said, *results], tools=[SEARCH], callable_tools=[SEARCH], max_output_tokens=1
    )


@given(st.binary(max_size=50) | ANY_JSON.map(lambda value: json.dumps(value).encode()), st.booleans())
def test_what_is_no_completion_is_unreadable(body: bytes, schema: bool) -> None:
    with pytest.raises(UnreadableAnswer):
        read_turn(read_object(body), REQUEST, BY_SCHEMA if schema else DIALECT)


@pytest.mark.parametrize(
    "answer",
    [
        {"id": None, "choices": None, "error": {"message": "Provider returned error", "code": 429}},
        {"choices": [{"error": {"code": 502}, "finish_reason": "error", "message": {"content": ""}}]},
        {"choices": [], "error": {"code": 502}},
    ],
)
def test_an_error_under_status_200_is_unreadable(answer: Any) -> None:
    with pytest.raises(UnreadableAnswer):
        read_turn(answer, REQUEST, DIALECT)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning_details"])
def test_opaque_fields_of_a_message_come_back_unchanged(field: str) -> None:
    value: Any = [{"type": "reasoning.encrypted", "data": "opaque", "index": 0}] if field.endswith("s") else "opaque"
    turn = read_turn(read_object(_body(chat_call(**{field: value}))), REQUEST, DIALECT)
    assert to_body(_after(turn), DIALECT)["messages"][2][field] == value
    assert "opaque" not in repr(turn)


def test_opaque_fields_of_calls_come_back_with_their_call() -> None:
    answer = calls(search("a"), search("b"))
    signed = {"google": {"thought_signature": "opaque"}}
    answer["choices"][0]["message"]["tool_calls"][1]["extra_content"] = signed
    turn = read_turn(answer, REQUEST, DIALECT)
    first, second = to_body(_after(turn), DIALECT)["messages"][2]["tool_calls"]
    assert "extra_content" not in first and second["extra_content"] == signed


def test_fields_that_a_provider_did_not_send_are_not_sent() -> None:
    turn = read_turn(read_object(_body(chat_call())), REQUEST, DIALECT)
    message = to_body(_after(turn), DIALECT)["messages"][2]
    assert set(message) == {"role", "content", "tool_calls"}


def test_only_the_callable_tools_are_offered_and_none_is_named() -> None:
    body = to_body(REQUEST, DIALECT)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["search"]
    assert body["tool_choice"] == "required"
    assert "max_tokens" in body and "reasoning_effort" not in body


def test_a_new_id_has_the_form_that_mistral_wants() -> None:
    turn = read_turn(calls(search("a"), ids=[""]), REQUEST, DIALECT)
    assert len(turn.tool_calls[0].id) == 9 and turn.tool_calls[0].id.isalnum()


def test_arguments_that_are_no_object_come_back_as_one() -> None:
    call = ToolCall(id="c", name="search", arguments='{"query": "cut o')
    said = ChatMessage(role="assistant", content="", tool_calls=(call,))
    request = ModelRequest(messages=[said], tools=[SEARCH], callable_tools=[SEARCH], max_output_tokens=1)
    sent = to_body(request, DIALECT)["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unreadable": '{"query": "cut o'}


def _body(reply: tuple[int, Any]) -> bytes:
    return json.dumps(reply[1]).encode()
