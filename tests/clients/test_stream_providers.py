"""Every provider: two turns in a stream are the turns that they would have been."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner.clients import chat_model
from gleaner.clients.chat_model import Api, ChatModel, connect
from gleaner.model import ChatMessage, ModelTurn, PartialCall, ToolSpec
from gleaner.runtime.deadline import Deadline
from tests.api.test_providers import MERGING, ROWS
from tests.doubles.providers import azure
from tests.doubles.providers.front import Provider

NAMES = ("knowledge_base_search", "generate_response")
PARAMETERS: dict[str, Any] = {
    "knowledge_base_search": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "generate_response": {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "sources": {"type": "array", "items": {"type": "string"}}},
        "required": ["answer", "sources"],
    },
}
TOOLS = [ToolSpec(name=name, description="A tool.", parameters=PARAMETERS[name]) for name in NAMES]
# Those that call in plain text or JSON only, whose calls have no parts.
WITHOUT_PARTS = ("no tools", "weak model", "no grammar", "plain text", "no parser", "empty calls")


def converse(model: ChatModel, parts: list[PartialCall] | None) -> list[ModelTurn]:
    """A search and an answer."""
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=MERGING)]
    turns = []
    for name in NAMES:
        turn = model.complete(
            messages,
            TOOLS,
            callable_tools=[name],
            deadline=Deadline.after(30),
            on_partial=None if parts is None else parts.append,
        )
        turns.append(turn)
        messages.append(
            ChatMessage(role="assistant", content=turn.content, tool_calls=turn.tool_calls, opaque=turn.opaque)
        )
        messages += [ChatMessage(role="tool", content="{}", tool_call_id=call.id) for call in turn.tool_calls]
    return turns


def run(name: str, monkeypatch: pytest.MonkeyPatch, parts: list[PartialCall] | None) -> tuple[Any, Provider, ChatModel]:
    row = ROWS[name]
    provider: Any = row.provider()
    if row.openai:
        monkeypatch.setattr(chat_model, "_OPENAI_HOSTS", ("127.0.0.1",))
    api = row.settings.get("OPENAI_API")
    with provider.serving() as url:
        model = connect(
            api_key=lambda: "k",
            base_url=url,
            model=azure.DEPLOYMENT if name.startswith("azure") else getattr(provider, "model", "model"),
            max_output_tokens=100,
            api=Api(api) if api else None,
            effort=row.settings.get("OPENAI_REASONING_EFFORT"),
        )
        turns = converse(model, parts)
    calls = [[(call.name, json.loads(call.arguments)) for call in turn.tool_calls] for turn in turns]
    facts = [(turn.finish_reason, turn.model, turn.usage, turn.is_refused) for turn in turns]
    return (calls, facts), provider, model


@pytest.mark.parametrize("name", ROWS)
def test_a_streamed_conversation_is_the_conversation_that_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[PartialCall] = []
    whole, before, _ = run(name, monkeypatch, None)
    streamed, provider, model = run(name, monkeypatch, parts)
    assert streamed == whole
    assert [calls[0][0] for calls in whole[0]] == list(NAMES)
    refuses_options = name.startswith("mistral")
    assert provider.wasted == before.wasted + refuses_options, [refusal.body for refusal in provider.refusals]
    assert provider.violations == []
    assert ("stream_options" in model.dialect.omitted) == refuses_options
    if not name.endswith(WITHOUT_PARTS):
        assert {part.tool for part in parts} == set(NAMES)
        assert json.loads(parts[-1].arguments) == streamed[0][1][0][1]
