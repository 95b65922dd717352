"""Chat completions: the same answers as on the routes of Gleaner, in OpenAI's form, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.model import Record
from gleaner_local.index.embedded import EmbeddedIndex
from tests.api.completions import IMAGE, PATH, QUESTION, Door, content_of, says_of, user
from tests.conftest import Client, limit_callers, make_api, proxy_event
from tests.doubles import client_tasks
from tests.doubles.completion_stream import read_chunks
from tests.doubles.event_stream import Reader
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.turns import TurnChecks

OWN = {"query_id", "session_id", "message_id", "latency_ms"}  # of every answer
LONG = "Duplicates 🙂 are merged by a conditional write, which raises the count. [kb-1] " * 3


@pytest.fixture(scope="module")
def client(environment: dict[str, str]) -> Client:
    """One process for all tests, as in a Lambda environment."""
    return Client(make_api(environment))


def plays(model: ScriptedModel, text: str = "Merged. [kb-1]") -> None:
    model.plays(calls(search()), calls(("generate_response", {"sources": ["kb-1"], "answer": text})))


def test_a_completion_holds_the_answer_of_the_other_routes(door: Door, model: ScriptedModel) -> None:
    plays(model)
    status, completion = door.ask()
    plays(model)
    _, whole = door.client.ask(QUESTION)
    assert status == 200
    answered = completion["gleaner"]
    assert {k: v for k, v in answered.items() if k not in OWN} == {k: v for k, v in whole.items() if k not in OWN}
    assert completion["id"] == f"chatcmpl-{answered['query_id']}"
    assert (completion["model"], says_of(completion)) == ("gleaner", "Merged. [kb-1]")
    assert completion["usage"] == {
        **{"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220},
        "prompt_tokens_details": {"cached_tokens": 0},
    }


@pytest.mark.parametrize("name", ["gleaner", "gleaner:strict:footnotes"])
def test_the_deltas_are_the_answer_that_is_sent_whole(door: Door, model: ScriptedModel, name: str) -> None:
    plays(model, LONG)
    _, completion = door.ask(model=name)
    plays(model, LONG)
    chunks, error = door.follow(model=name)
    assert error is None
    assert content_of(chunks) == says_of(completion)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert len([delta for delta in deltas if delta.get("content")]) > 1
    [annotations] = [delta["annotations"] for delta in deltas if "annotations" in delta]
    assert annotations == completion["choices"][0]["message"]["annotations"]
    assert chunks[-1]["gleaner"]["answer"] == completion["gleaner"]["answer"]
    assert chunks[0]["id"] == f"chatcmpl-{chunks[-1]['gleaner']['query_id']}"


def test_citations_name_each_mark_by_its_place_in_code_points(door: Door, model: ScriptedModel) -> None:
    plays(model, "🙂 `a[kb-1]` Merged 👩‍👩‍👧. [kb-1] Again: [kb-1]")
    _, completion = door.ask()
    text = says_of(completion)
    message = completion["choices"][0]["message"]
    cited = [annotation["url_citation"] for annotation in message["annotations"]]
    assert [text[one["start_index"] : one["end_index"]] for one in cited] == ["[kb-1]", "[kb-1]"]
    assert [one["start_index"] for one in cited] == [text.index(". [kb-1]") + 2, text.rindex("[kb-1]")]
    [source] = completion["gleaner"]["sources"]
    assert {one["url"] for one in cited} == {f"http://gleaner.example{source['passage_url']}"}
    _, passage = door.client.request("GET", source["passage_url"])
    assert {one["title"] for one in cited} == {f"{passage['title']} – {passage['chapter']}"}


def test_a_source_without_a_mark_is_cited_at_the_end(door: Door, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette (notes)"))
    both = answer("Merged. [kb-1]", ("kb-1", "web-1"))
    model.plays(calls(search()), calls(web_search()), calls(index("Starlette release"), both))
    _, completion = door.ask(model="gleaner:footnotes")
    text, answered = says_of(completion), "Merged. [kb-1]"
    cited = [one["url_citation"] for one in completion["choices"][0]["message"]["annotations"]]
    assert [(one["start_index"], one["end_index"]) for one in cited] == [(8, 14), (len(answered), len(answered))]
    assert cited[1]["url"] == "https://starlette.dev/release"
    assert text.startswith(f"{answered}\n\n---\n\n- [kb-1] [Handbook – Keywords](<http://gleaner.example/api/passages/")
    assert text.endswith("\n- [web-1] [Starlette \\(notes\\)](<https://starlette.dev/release>)")
    assert completion["gleaner"]["answer"] == answered


def test_the_messages_are_the_history_and_are_not_stored(
    door: Door, model: ScriptedModel, stored_turns: TurnChecks
) -> None:
    stored_turns.new()
    plays(model)
    reply = "By a write. [kb-3]\n\n---\n\n- [kb-3] [Handbook](<http://gleaner.example/a>)"
    called = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    status, completion = door.ask(
        {"role": "system", "content": "Answer in French."},
        user([{"type": "text", "text": "What is"}, IMAGE, {"type": "text", "text": "a keyword?"}]),
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "call_1", "content": "NOT THE USER'S WORDS"},
        {"role": "assistant", "content": [{"type": "text", "text": reply}]},
        user(),
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": ""},
    )
    assert status == 200 and completion["gleaner"]["session_id"] is None
    system, *earlier, question = [message for message in model.requests[0]["messages"] if message["role"] != "tool"]
    assert "Answer in French.\\n\\nBe brief." in system["content"]
    assert [(message["role"], message["content"]) for message in earlier] == [
        ("user", "What is\n\na keyword?"),
        ("assistant", "By a write."),
    ]
    assert question["content"] == QUESTION
    assert "NOT THE USER'S" not in str(model.requests)
    assert stored_turns.new() == 0


def test_a_session_is_continued_and_stored(door: Door, model: ScriptedModel) -> None:
    _, session = door.client.post("/api/sessions", {})
    session_id = session["session_id"]
    for count in (2, 4):
        plays(model)
        chunks, _ = door.follow(user("From elsewhere"), user(), metadata={"session_id": session_id, "other": 1})
        assert chunks[-1]["gleaner"]["session_id"] == session_id
        assert door.client.request("GET", f"/api/sessions/{session_id}")[1]["message_count"] == count
    assert "From elsewhere" not in str(model.requests)
    assert [message["role"] for message in model.requests[0]["messages"]] == ["system", "user", "assistant", "user"]


def test_a_strict_model_asks_no_web(door: Door, model: ScriptedModel) -> None:
    for name, can_search in (("gleaner", True), ("gleaner:strict", False)):
        plays(model)
        door.ask(model=name)
        assert ("You are in textbook mode." in str(model.requests[0])) is not can_search


def test_a_repeated_key_gets_the_answer_whole_or_streamed(door: Door, model: ScriptedModel) -> None:
    plays(model)
    chunks, _ = door.follow(key="once", temperature=0.2)
    _, completion = door.ask(key="once", seed=7)
    again, _ = door.follow(key="once", stream_options={"include_usage": True})
    assert len(model.requests) == 2
    assert completion["id"] == chunks[0]["id"] == again[0]["id"]
    assert content_of(again) == content_of(chunks) == says_of(completion)
    assert again[-1]["usage"] == completion["usage"]
    status, body = door.ask(user("Another question?"), key="once")
    assert (status, body["error"]["code"]) == (400, "idempotency-key-reused")


def test_the_answer_of_a_deleted_session_is_not_repeated(door: Door, model: ScriptedModel) -> None:
    _, session = door.client.post("/api/sessions", {})
    metadata = {"session_id": session["session_id"]}
    plays(model)
    door.ask(key="gone", metadata=metadata)
    door.client.request("DELETE", f"/api/sessions/{session['session_id']}")
    status, body = door.ask(key="gone", metadata=metadata)
    assert (status, body["error"]["code"]) == (404, "unknown-session")
    assert body["error"]["param"] == "metadata.session_id" and "POST /api/sessions" in body["error"]["message"]


def test_the_answer_of_an_erased_caller_is_not_repeated(door: Door, model: ScriptedModel) -> None:
    plays(model)
    assert door.ask(key="erased", caller="leaver")[0] == 200
    assert door.ask(key="erased", caller="leaver")[0] == 200
    assert len(model.requests) == 2
    door.client.request("DELETE", "/api/callers/key:leaver", caller="admin")
    status, body = door.ask(key="erased", caller="leaver")
    assert (status, body["error"]["code"]) == (404, "unknown-query")


@pytest.mark.parametrize("ending", ["same", "other"])
def test_an_answer_that_was_withdrawn_goes_on_or_ends_in_an_error(
    door: Door, model: ScriptedModel, ending: str
) -> None:
    given = {"sources": ["kb-1"], "answer": LONG}
    final = LONG if ending == "same" else f"Otherwise: {LONG}"
    rejected = calls(("generate_response", given), search("pruned keywords"))  # a search beside the answer
    model.plays(calls(search()), rejected, calls(("generate_response", given | {"answer": final})))
    chunks, error = door.follow()
    assert content_of(chunks)
    if ending == "same":
        assert (content_of(chunks), error) == (LONG.strip(), None)
        return
    assert error and error["code"] == "answer-withdrawn"
    assert says_of(error["completion"]) == final.strip()


def test_an_error_after_the_first_byte_is_an_event(door: Door, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("No tool."))
    chunks, error = door.follow()
    assert content_of(chunks) == ""
    assert error and (error["type"], error["code"]) == ("server_error", "mandatory-tool-missing")
    assert error["query_id"] == chunks[0]["id"].removeprefix("chatcmpl-")


def test_a_title_is_written_without_the_loop(door: Door, model: ScriptedModel, stored_turns: TurnChecks) -> None:
    stored_turns.new()
    task = client_tasks.title([("user", QUESTION), ("assistant", "By a write.")])
    for name, message in (("gleaner", task), ("gleaner-plain", "Name three colours.")):
        model.plays(says('{"title": "Merging duplicates"}'))
        _, completion = door.ask(user(message), model=name)
        model.plays(says('{"title": "Merging duplicates"}'))
        chunks, error = door.follow(user(message), model=name)
        assert len(model.requests) == 1 and "tools" not in model.requests[0]
        assert says_of(completion) == content_of(chunks) == '{"title": "Merging duplicates"}'
        assert error is None and completion["gleaner"] is None and chunks[-1]["gleaner"] is None
        assert completion["usage"]["total_tokens"] == 110
    assert stored_turns.new() == 0


def test_a_title_may_be_asked_for_in_a_system_message(door: Door, model: ScriptedModel) -> None:
    model.plays(says("Merging Duplicates"))
    status, completion = door.ask(
        {"role": "system", "content": client_tasks.libre_chat_of_2024(QUESTION, "By a write.")}
    )
    assert (status, says_of(completion)) == (200, "Merging Duplicates")


def test_a_failed_title_keeps_its_status_though_it_was_to_stream(door: Door, model: ScriptedModel) -> None:
    model.plays(says(""))
    response = door.send(model="gleaner-plain", stream=True, reader=Reader())
    assert response["statusCode"] == 500
    assert response["multiValueHeaders"]["x-should-retry"] == ["false"]


@pytest.fixture
def two_more_knowledge_bases(index_host: str, embedded_index: EmbeddedIndex) -> Iterator[None]:
    record = Record(id="a#0", text="Merged.", title="T", source_file_path="a.md", chunk_index=0, content_hash="h")
    for kb_id in ("physics", "strict"):
        pinecone.connect(host=index_host, api_key=lambda: "k").upsert(kb_id, [record], timeout=20)
    yield
    for kb_id in ("physics", "strict"):
        embedded_index.delete_all(kb_id)


@pytest.mark.usefixtures("two_more_knowledge_bases")
def test_callers_ask_their_own_knowledge_bases(settings: dict[str, str], model: ScriptedModel) -> None:
    limit_callers(settings, {"key:reader": ["physics"]})
    door = Door(Client(make_api(settings)))

    def list_names(caller: str) -> list[str]:
        _, body = door.client.request("GET", "/v1/models", caller=caller)
        return [item["id"] for item in body["data"]]

    # Other tests leave knowledge bases in the index.
    suffixes = ("", ":footnotes", ":strict", ":strict:footnotes")
    expected = [base + suffix for base in ("gleaner", "gleaner:physics", "gleaner:kb=strict") for suffix in suffixes]
    expected.append("gleaner-plain")
    assert [name for name in list_names("local") if name in expected] == expected
    assert list_names("reader") == [*(f"gleaner:physics{suffix}" for suffix in suffixes), "gleaner-plain"]
    for name in expected:
        assert door.client.request("GET", f"/v1/models/{name}")[1]["id"] == name
    for caller, name in (("reader", "gleaner"), ("reader", "gleaner:kb=strict"), ("local", "gleaner:nowhere")):
        plays(model)
        status, body = door.ask(model=name, caller=caller)
        shown_status, shown = door.client.request("GET", f"/v1/models/{name}", caller=caller)
        for error in (body["error"], shown["error"]):
            assert (error["code"], error["param"]) == ("model_not_found", "model")
            assert error["message"].startswith(f"The model `{name}` does not exist or you do not have access to it.")
        assert (status, shown_status, model.requests) == (404, 404, [])
    for caller, name in (("local", "gleaner:kb=strict"), ("reader", "gleaner:physics")):
        plays(model)
        assert door.ask(model=name, caller=caller)[0] == 200


def test_a_client_that_goes_stops_nothing(door: Door, model: ScriptedModel) -> None:
    for leaves_at in (0, 1, 2):
        plays(model)
        door.send(key=f"left-{leaves_at}", stream=True, reader=Reader(leaves_at=leaves_at))
        assert door.ask(key=f"left-{leaves_at}")[0] == 200


def test_where_responses_are_sent_whole_a_stream_is_one_text(door: Door, model: ScriptedModel) -> None:
    plays(model)
    response = door.send(stream=True)
    assert content_of(read_chunks(response["body"])[0]) == "Merged. [kb-1]"


@pytest.mark.parametrize(
    ("headers", "context", "address"),
    [
        ({"host": "a.example:8000"}, {}, "http://a.example:8000"),
        ({"Host": "api.example", "X-Forwarded-Proto": "https"}, {"stage": "dev"}, "https://api.example/dev"),
        ({"host": "b", "x-forwarded-host": "a.example, b", "x-forwarded-proto": "https,http"}, {}, "https://a.example"),
        ({"x-forwarded-proto": "https"}, {"domainName": "api.example"}, "https://api.example"),
        ({"host": "[::1]:80"}, {}, "http://[::1]:80"),
        ({"host": 'a.example"><x'}, {}, ""),
        ({"host": "a.example", "x-forwarded-proto": "javascript"}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_citations_link_to_where_the_client_called(
    door: Door, model: ScriptedModel, headers: dict[str, str], context: dict[str, Any], address: str
) -> None:
    plays(model)
    event = proxy_event("POST", PATH, "local")
    if "stage" in context:
        context = context | {"path": f"/{context['stage']}{PATH}"}
    body = {"model": "gleaner", "messages": [user()]}
    event |= {"headers": headers | {"content-type": "application/json"}, "body": json.dumps(body)}
    event["requestContext"] |= context
    response = door.client.send(event)
    assert response["statusCode"] == 200
    [annotation] = json.loads(response["body"])["choices"][0]["message"]["annotations"]
    assert annotation["url_citation"]["url"].startswith(f"{address}/api/passages/")
