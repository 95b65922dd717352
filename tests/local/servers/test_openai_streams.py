"""The local model's streams through the openai SDK's own readers of streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from gleaner.clients.chat_model import Api, connect
from gleaner.model import ChatMessage, PartialCall, ToolSpec
from gleaner.runtime.deadline import Deadline
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.openai_server import MODEL, WITHOUT_TOOLS, create_app

QUESTION = "How are duplicate keywords merged?"
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
NAME = "knowledge_base_search"
TOOL: dict[str, Any] = {"name": NAME, "description": "Searches.", "parameters": PARAMETERS}
CHAT_TOOLS: Any = [{"type": "function", "function": TOOL}]
MESSAGES: Any = [{"role": "user", "content": QUESTION}]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    asgi_server = AsgiServer(create_app())
    asgi_server.start()
    yield f"{asgi_server.url}/v1"
    asgi_server.stop()


@pytest.fixture(scope="module")
def client(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="local", base_url=server, max_retries=0) as sdk:
        yield sdk


def test_a_completion_streams_in_deltas_with_usage_at_the_end(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=MESSAGES, tools=CHAT_TOOLS)
    with client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=CHAT_TOOLS, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.usage is None for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    assert chunks[-1].choices == []
    parts = [call for chunk in chunks[:-1] for call in chunk.choices[0].delta.tool_calls or ()]
    expected: Any = whole.choices[0].message.tool_calls[0]  # type: ignore[index]
    assert len(parts) > 5
    assert "".join((part.function and part.function.arguments) or "" for part in parts) == expected.function.arguments
    assert [part.id is None for part in parts] == [False] + [True] * (len(parts) - 1)
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason


def test_the_helper_for_completions_makes_the_same_completion(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=MESSAGES, tools=CHAT_TOOLS)
    with client.chat.completions.stream(model=MODEL, messages=MESSAGES, tools=CHAT_TOOLS) as stream:
        final = stream.get_final_completion()
    calls: Any = final.choices[0].message.tool_calls
    expected: Any = whole.choices[0].message.tool_calls
    assert [(call.function.name, call.function.arguments) for call in calls] == [
        (call.function.name, call.function.arguments) for call in expected
    ]
    assert final.usage is None  # it was not asked for


def test_the_helper_for_responses_makes_the_same_response(client: openai.OpenAI) -> None:
    tools: Any = [{"type": "function", "strict": False} | TOOL]
    request: dict[str, Any] = {"model": MODEL, "input": MESSAGES, "tools": tools, "store": False}
    whole = client.responses.create(**request)
    with client.responses.stream(**request) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert kinds.count("response.function_call_arguments.delta") > 5
    assert kinds[-3:] == [
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [(item.name, item.arguments) for item in final.output if item.type == "function_call"] == [
        (item.name, item.arguments) for item in whole.output if item.type == "function_call"
    ]
    assert final.usage and whole.usage and final.usage.output_tokens == whole.usage.output_tokens


def test_a_text_streams_in_both_apis(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=MESSAGES) as chat:
        assert chat.get_final_completion().choices[0].message.content == WITHOUT_TOOLS
    with client.responses.stream(model=MODEL, input=MESSAGES, store=False) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert "".join(deltas) == stream.get_final_response().output_text == WITHOUT_TOOLS
    assert len(deltas) > 5


def test_an_error_before_the_stream_keeps_its_status(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="other", messages=MESSAGES, stream=True)


def test_every_event_is_a_chunk_of_server_sent_events(server: str) -> None:
    body = {"model": MODEL, "messages": MESSAGES, "tools": CHAT_TOOLS, "stream": True}
    headers = {"authorization": "Bearer local"}
    with httpx.stream("POST", f"{server}/chat/completions", json=body, headers=headers) as response:
        chunks = list(response.iter_raw())
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["transfer-encoding"] == "chunked"
    assert b"".join(chunks).endswith(b"data: [DONE]\n\n")
    assert all(line.startswith(b"data: ") for line in b"".join(chunks).splitlines() if line)


@pytest.mark.parametrize("api", Api)
def test_the_client_of_this_project_reads_the_same_turn(server: str, api: Api) -> None:
    model = connect(api_key=lambda: "k", base_url=server, model=MODEL, max_output_tokens=100, api=api)
    parts: list[PartialCall] = []
    turns = [
        model.complete(
            [ChatMessage(role="user", content=QUESTION)],
            [ToolSpec(**TOOL)],
            callable_tools=[NAME],
            deadline=Deadline.after(30),
            on_partial=listener,
        )
        for listener in (None, parts.append)
    ]
    buffered, streamed = ([(call.name, call.arguments) for call in turn.tool_calls] for turn in turns)
    assert buffered == streamed and turns[0].usage.output_tokens == turns[1].usage.output_tokens > 0
    assert parts and parts[-1].arguments == streamed[0][1]  # pieces that come together are one
