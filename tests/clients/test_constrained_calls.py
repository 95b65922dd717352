"""Calls that a model writes as JSON: the schema, the conversation without tools, and how the text is read."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._constrained_calls import as_plain_messages, read_call, response_format
from gleaner.clients._model_request import ModelRequest
from gleaner.model import ChatMessage, ToolCall
from tests.doubles.in_process_provider import ANSWER, QUESTION, SEARCH

CALL: dict[str, Any] = {"tool": "search", "arguments": {"query": "x"}}
TEXT = json.dumps(CALL)


def read(text: str, *tools: Any) -> Any:
    call = read_call(text, tools or (SEARCH, ANSWER), call_id="id")
    return call and (call.id, call.name, json.loads(call.arguments))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Sure {{gladly}}! I call it:\n{TEXT}\nIs that right?",
        f"<think>{{maybe}} the user wants</think>\n<tool_call>{TEXT}</tool_call>",
        f"[{TEXT}]",
        f"{TEXT}\n{json.dumps({'tool': 'answer', 'arguments': {}})}",
        json.dumps({"name": "search", "arguments": {"query": "x"}}),
        json.dumps({"name": "search", "parameters": {"query": "x"}}),
        json.dumps({"type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}}),
        json.dumps({"function": "search", "arguments": {"query": "x"}}),
        json.dumps({"tool": "search", "query": "x"}),
        json.dumps({"tool_calls": [{"name": "search", "arguments": {"query": "x"}}]}),
        json.dumps({"thought": "I search."}) + TEXT,
        '{"tool": "nothing", "arguments": {}}' + TEXT,
    ],
)
def test_a_call_is_read_in_every_form_that_models_write(text: str) -> None:
    assert read(text) == ("id", "search", {"query": "x"})


def test_arguments_alone_are_a_call_of_the_only_tool() -> None:
    for text in ('{"query": "x"}', '{"arguments": {"query": "x"}}'):
        assert read(text, SEARCH) == ("id", "search", {"query": "x"})
        assert read(text) is None
    assert read('{"other": "x"}', SEARCH) is None


def test_a_raw_newline_in_a_string_is_read() -> None:
    assert read('{"tool": "search", "arguments": {"query": "a\nb"}}') == ("id", "search", {"query": "a\nb"})


@pytest.mark.parametrize("text", ["", "I would say so.", TEXT[:-9], "{" * 10_000, '{"tool": "search_all"}', "{}"])
def test_a_text_without_a_call_is_none(text: str) -> None:
    assert read(text) is None


@given(st.text(alphabet='{}[]":, toolsearchnamefunctionarguments\n1', max_size=80) | st.text())
def test_any_text_can_be_read(text: str) -> None:
    call = read_call(text, [SEARCH], call_id="id")
    assert call is None or call.name == "search"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["tool", "name", "function", "arguments", "parameters", "tool_calls", "query"]), inner
            )
        ),
    )
)
def test_any_json_can_be_read(value: Any) -> None:
    call = read_call(json.dumps(value), [SEARCH, ANSWER], call_id="id")
    assert call is None or call.name in ("search", "answer")


def test_the_schema_lets_only_valid_calls_pass() -> None:
    schema = response_format([SEARCH, ANSWER])["json_schema"]["schema"]
    valid = jsonschema_rs.validator_for(schema).is_valid
    assert valid(CALL)
    assert valid({"tool": "answer", "arguments": {"text": "x", "sources": ["kb-1"]}})
    assert not valid({"tool": "answer", "arguments": {"text": "x", "sources": ["kb-2"]}})
    assert not valid({"tool": "search", "arguments": {"query": "x", "top": "3"}})
    assert not valid({"tool": "search", "arguments": {}})
    assert not valid({"tool": "index", "arguments": {}})


def test_a_single_tool_has_a_schema_without_alternatives() -> None:
    schema = response_format([SEARCH])["json_schema"]["schema"]
    assert schema["properties"]["tool"] == {"type": "string", "enum": ["search"]}


def test_calls_and_results_become_plain_messages() -> None:
    said = ChatMessage(role="assistant", content="", tool_calls=(ToolCall(id="c", name="search", arguments="{}"),))
    again = ChatMessage(role="assistant", content="", tool_calls=(ToolCall(id="c", name="answer", arguments="{}"),))
    results = [ChatMessage(role="tool", content=text, tool_call_id="c") for text in ("found", "refused")]
    request = ModelRequest(
        messages=[*QUESTION, said, results[0], again, results[1]],
        tools=[SEARCH, ANSWER],
        callable_tools=[SEARCH],
        max_output_tokens=1,
    )
    plain = as_plain_messages(request)
    assert [message.role for message in plain] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert plain[0].content.startswith("Be brief.\n\n") and '"top"' not in plain[0].content
    assert [message.content for message in plain[1:]] == [
        "a question of a user",
        '{"tool": "search", "arguments": {}}',
        "[result of search]\nfound",
        '{"tool": "answer", "arguments": {}}',
        "[result of answer]\nrefused",
    ]
    assert not any(message.tool_calls or message.tool_call_id for message in plain)
