"""Answers that stream: what is sent, in which order, and what happens to errors and to clients that go."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from tests.conftest import Client, make_api, proxy_event
from tests.doubles.event_stream import Part, Reader, final_of, texts_of
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.turns import TurnChecks

QUESTION = {"query": "How are duplicates merged?"}
STREAM, WHOLE = "/api/chat/stream", "/api/chat/query"


@pytest.fixture(scope="module")
def client(environment: dict[str, str]) -> Client:
    """One process for all tests, as in a Lambda environment."""
    return Client(make_api(environment))


def plays(model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))


def types_of(parts: list[Part]) -> list[str]:
    return [part["type"] for part in parts]


def parts_of(kind: str, parts: list[Part]) -> list[Part]:
    return [part for part in parts if part["type"] == kind]


def test_the_way_to_an_answer_is_sent_in_order(client: Client, model: ScriptedModel) -> None:
    plays(model)
    status, parts = client.follow(QUESTION)
    assert status == 200
    types = types_of(parts)
    assert types[:4] == ["start", "start-step", "data-gleaner-step", "tool-input-available"]
    assert types[-3:] == ["data-gleaner-answer", "finish-step", "finish"]
    [call, last_call] = parts_of("tool-input-available", parts)
    assert (call["toolName"], call["input"]["query"]) == ("knowledge_base_search", "merging keywords")
    assert (last_call["toolName"], last_call["input"]) == ("generate_response", {})
    [outcome, _] = parts_of("tool-output-available", parts)
    assert outcome["toolCallId"] == call["toolCallId"] and outcome["output"]["ids"] == ["kb-1", "kb-2"]
    [found] = parts_of("data-gleaner-passages", parts)
    assert [passage["id"] for passage in found["data"]] == ["kb-1", "kb-2"]
    assert texts_of(parts) == ["Merged. [kb-1]"]
    assert [part["sourceId"] for part in parts_of("source-document", parts)] == ["kb-1"]


def test_the_last_event_is_the_answer_of_the_route_that_does_not_stream(client: Client, model: ScriptedModel) -> None:
    plays(model)
    _, parts = client.follow(QUESTION)
    _, streamed = final_of(parts)
    plays(model)
    _, whole = client.ask(QUESTION["query"])
    own = {"query_id", "session_id", "message_id", "latency_ms"}
    assert {name: value for name, value in streamed.items() if name not in own} == {
        name: value for name, value in whole.items() if name not in own
    }
    start = parts[0]
    assert start["messageId"] == streamed["message_id"]
    assert start["messageMetadata"] == {name: streamed[name] for name in ("query_id", "session_id")}
    _, page = client.request("GET", f"/api/sessions/{streamed['session_id']}/messages")
    assert [message["content"] for message in page["messages"]] == [QUESTION["query"], streamed["answer"]]


def test_a_session_is_continued(client: Client, model: ScriptedModel) -> None:
    _, session = client.post("/api/sessions", {})
    path = f"/api/sessions/{session['session_id']}/chat/stream"
    for count in (2, 4):
        plays(model)
        status, parts = client.follow(QUESTION, path)
        body = final_of(parts)[1]
        assert (status, body["message"]["content"]) == (200, "Merged. [kb-1]")
        assert parts[0]["messageId"] == body["message"]["id"]
        _, shown = client.request("GET", f"/api/sessions/{session['session_id']}")
        assert shown["message_count"] == count


def test_both_kinds_of_sources_are_sent(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    both = answer("Merged. [kb-1] Released. [web-1]", ("kb-1", "web-1"))
    model.plays(calls(search()), calls(web_search()), calls(index("Starlette release"), both))
    _, parts = client.follow(QUESTION)
    [document], [page] = parts_of("source-document", parts), parts_of("source-url", parts)
    assert (document["sourceId"], document["mediaType"], document["filename"]) == (
        "kb-1",
        "text/markdown",
        "keywords.md",
    )
    assert (page["sourceId"], page["url"]) == ("web-1", "https://starlette.dev/release")
    sources = final_of(parts)[1]["sources"]
    assert [part["providerMetadata"]["gleaner"] for part in (document, page)] == sources
    steps = [part["data"]["step"] for part in parts_of("data-gleaner-step", parts)]
    assert steps[:3] == ["search", "decide", "learn"]


def test_the_headers_let_nobody_store_or_hold_back_the_stream(settings: dict[str, str], model: ScriptedModel) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://app.example.org"}))
    plays(model)
    headers = {"content-type": "application/json", "origin": "https://app.example.org"}
    event = proxy_event("POST", STREAM, "local") | {
        "body": json.dumps(QUESTION),
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
    }
    reader = Reader()
    sent = client.send(event, reader)["multiValueHeaders"]
    plays(model)
    whole = client.send(event | {"path": WHOLE})["multiValueHeaders"]
    assert sent["Content-Type"] == ["text/event-stream"]
    assert sent["Cache-Control"] == ["no-store, no-transform"] and sent["X-Accel-Buffering"] == ["no"]
    assert sent["x-vercel-ai-ui-message-stream"] == ["v1"]
    assert sent["X-Query-Id"] == [reader.parts()[0]["messageMetadata"]["query_id"]] and sent["X-Request-Id"] == ["r"]
    shared = [name for name in whole if name.startswith("Access-Control-") or name == "Vary"]
    assert len(shared) > 3
    assert {name: sent[name] for name in shared} == {name: whole[name] for name in shared}


UNKNOWN = "0" * 26


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        (STREAM, {}, (400, "validation-failed")),
        (STREAM, {"query": "x" * 50_001}, (400, "validation-failed")),
        (STREAM, QUESTION | {"kb_id": "nowhere"}, (404, "unknown-knowledge-base")),
        (STREAM, QUESTION | {"session_id": UNKNOWN}, (404, "unknown-session")),
        (f"/api/sessions/{UNKNOWN}/chat/stream", QUESTION, (404, "unknown-session")),
        (f"/api/sessions/{UNKNOWN}/chat/stream", QUESTION | {"session_id": UNKNOWN}, (400, "validation-failed")),
    ],
)
def test_what_is_refused_before_the_first_byte_keeps_its_status(
    client: Client, model: ScriptedModel, path: str, body: Any, problem: tuple[int, str]
) -> None:
    plays(model)
    reader = Reader()
    status, document = client.follow(body, path, reader=reader)
    assert (status, document["type"].removeprefix("urn:gleaner:problem:")) == problem
    assert reader.status is None
    assert model.requests == []


def test_an_error_after_the_first_byte_is_an_event(
    client: Client, model: ScriptedModel, stored_turns: TurnChecks
) -> None:
    stored_turns.new()
    model.plays(calls(search()), says("No tool."))
    status, parts = client.follow(QUESTION)
    assert status == 200
    failed, problem = final_of(parts)
    assert (failed, problem["type"]) == (502, "urn:gleaner:problem:mandatory-tool-missing")
    # Clients of the AI SDK read nothing beyond the error.
    assert types_of(parts)[-4:] == ["data-gleaner-problem", "error", "finish-step", "finish"]
    assert parts[-3]["errorText"] == problem["detail"]
    assert texts_of(parts) == []
    assert problem["query_id"] == parts[0]["messageMetadata"]["query_id"]
    assert stored_turns.new() == 0


def with_key(key: str) -> dict[str, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    return {"headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}


def test_a_repeated_key_gets_the_kept_answer_as_one_stream(client: Client, model: ScriptedModel) -> None:
    plays(model)
    _, first = client.follow(QUESTION, **with_key("key-1"))
    reader = Reader()
    _, again = client.follow(QUESTION, reader=reader, **with_key("key-1"))
    assert reader.headers["Idempotent-Replayed"] == ["true"]
    assert final_of(again) == final_of(first)
    assert texts_of(again) == texts_of(first)
    assert len(model.requests) == 2
    assert types_of(again) == [
        *("start", "text-start", "text-delta", "text-end", "source-document", "data-gleaner-answer", "finish")
    ]
    # Whoever lost the stream may ask for the answer whole, and the other way round.
    status, whole = client.post(WHOLE, QUESTION, **with_key("key-1"))
    assert (status, whole) == final_of(first)


@pytest.mark.parametrize("leaves_at", [*range(8), 12, 15])
def test_the_turn_is_kept_once_when_the_client_goes(
    client: Client, model: ScriptedModel, stored_turns: TurnChecks, leaves_at: int
) -> None:
    plays(model)
    stored_turns.new()
    key, reader = with_key(f"gone-{leaves_at}"), Reader(leaves_at=leaves_at)
    client.send(proxy_event("POST", STREAM, "local") | {"body": json.dumps(QUESTION)} | key, reader)
    assert len(reader.chunks) <= leaves_at
    assert stored_turns.new() == 1
    _, again = client.follow(QUESTION, **key)
    assert texts_of(again) == ["Merged. [kb-1]"]
    assert stored_turns.new() == 0
    assert [thread.name for thread in threading.enumerate() if thread.name == "keep-alive"] == []


class Looking(Reader):
    """Looks into the session as soon as it sees the answer."""

    message_count: int | None = None

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def write(self, chunk: bytes) -> None:
        """Note a chunk."""
        super().write(chunk)
        if b"data-gleaner-answer" in chunk:
            session_id = final_of(self.parts())[1]["session_id"]
            self.message_count = self.client.request("GET", f"/api/sessions/{session_id}")[1]["message_count"]


def test_the_turn_is_kept_before_the_last_event(environment: dict[str, str], model: ScriptedModel) -> None:
    plays(model)
    looking = Looking(Client(make_api(environment)))
    Client(make_api(environment)).follow(QUESTION, reader=looking)
    assert looking.message_count == 2


def test_only_a_response_that_streams_has_the_longer_deadline(settings: dict[str, str], model: ScriptedModel) -> None:
    client = Client(make_api(settings | {"QUERY_DEADLINE_SECONDS": "0.7", "STREAM_DEADLINE_SECONDS": "30"}))

    def late(_request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(1)
        return calls(answer())

    model.plays(calls(search()), late)
    assert final_of(client.follow(QUESTION, reader=Reader())[1])[0] == 200
    model.plays(calls(search()), late)
    status, sent = client.follow(QUESTION)  # sent whole: a gateway waits for it
    # Where the machine stalls, the time is up before the first event.
    status, problem = final_of(sent) if status == 200 else (status, sent)
    assert (status, problem["type"]) == (504, "urn:gleaner:problem:deadline-exceeded")
