"""Questions through the application: the agent loop, its enforcement, and what is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner.clients import pinecone
from gleaner.model import Record
from tests.conftest import MERGING, Client, keep_former_form
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search, web
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.keyword_fixtures import associations_of, heads_of
from tests.stored_items import read_records

WEB_TEXT = "Starlette 1.0 was released in 2026 [1]. It is an ASGI framework [2]."
RESULTS = (
    result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026."),
    result(2, "https://starlette.dev/", "Starlette", "An ASGI framework."),
)


def offered(request: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


def test_an_answer_from_the_knowledge_base_takes_two_model_calls(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer(confidence_score=0.9)))
    status, body = client.ask()
    assert status == 200
    assert body["status"] == "success"
    assert body["answer"] == "Merged. [kb-1]"
    assert body["used_tools"] == ["knowledge_base_search", "generate_response"]
    assert (body["tool_call_count"], body["keyword_count"], body["confidence_score"]) == (2, 0, 0.9)
    assert (body["used_internal_kb"], body["used_external_kb"]) == (True, False)
    source = body["sources"][0]
    assert (source["id"], source["source_type"], source["chapter"]) == ("kb-1", "knowledge_base", "Keywords")
    assert (source["source_file_path"], source["chunk_index"]) == ("docs/keywords.md", 0)
    assert source["text_preview"] == MERGING
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("question", "claim", "answered"),
    [
        ("How are duplicates merged?", "found", "found"),
        ("How are duplicates merged?", "Partly", "partly"),
        ("How are duplicates merged?", "not-found", "not_found"),
        ("How are duplicates merged?", None, "found"),
        ("How are duplicates merged?", ["of course"], "found"),
        ("How many duplicates are merged?", "found", "partly"),
    ],
)
def test_an_answer_says_how_far_it_answers(
    client: Client, model: ScriptedModel, question: str, claim: Any, answered: str
) -> None:
    model.plays(calls(search()), calls(answer(answered=claim)))
    assert client.ask(question)[1]["answered"] == answered


def test_an_answer_without_sources_is_a_fallback_that_found_nothing(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Merged.", (), answered="found")))
    body = client.ask()[1]
    assert (body["status"], body["answered"], body["sources"]) == ("fallback", "not_found", [])


def test_each_step_offers_its_tools_and_forces_them(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    client.ask()
    first, second = model.requests
    assert first["tool_choice"] == {"type": "function", "function": {"name": "knowledge_base_search"}}
    assert offered(first) == ["knowledge_base_search"]
    assert second["tool_choice"] == "required"
    assert offered(second) == ["knowledge_base_search", "perplexity_search", "generate_response"]


def test_a_web_answer_takes_three_model_calls_and_is_learned(
    client: Client, model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search("starlette release")),
        calls(("perplexity_search", {"query": "When was Starlette 1.0 released?"})),
        calls(index("Starlette 1.0", "ASGI frameworks", "the"), answer("In 2026. [web-1]", ("web-1",))),
    )
    status, body = client.ask("When was Starlette 1.0 released?")
    assert status == 200
    assert len(model.requests) == 3
    assert body["used_tools"] == [
        "knowledge_base_search",
        "perplexity_search",
        "index_keywords",
        "generate_response",
    ]
    assert body["keyword_count"] == 2
    assert (body["used_internal_kb"], body["used_external_kb"]) == (False, True)
    assert body["sources"][0]["source_url"] == "https://starlette.dev/release"
    stored = items("KEYWORDS_TABLE")
    keywords = {item["keyword_text"]: item for item in heads_of(stored)}
    assert set(keywords) == {"Starlette 1.0", "ASGI frameworks"}
    assert all(item["usage_count"] == 1 and item["status"] == "active" for item in keywords.values())
    associations = associations_of(stored)
    assert {item["query_id"] for item in associations} == {body["query_id"]}
    assert {item["session_id"] for item in associations} == {body["session_id"]}
    [web_answer] = [item for item in stored if item["sk"] == "ANSWER"]
    content = web_answer["content"]
    assert (content["answer"], web_answer["query"]) == (WEB_TEXT, "When was Starlette 1.0 released?")
    assert [citation["url"] for citation in content["citations"]] == [r["url"] for r in RESULTS]


def test_a_related_question_finds_the_stored_web_answer(
    client: Client, model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search("starlette release")),
        calls(("perplexity_search", {"query": "When was Starlette 1.0 released?"})),
        calls(index("Starlette release", "ASGI framework"), answer("In 2026. [web-1]", ("web-1",))),
    )
    client.ask("When was Starlette 1.0 released?")
    web.finds("Not searched.", *RESULTS)
    model.plays(calls(search("release date of Starlette")), calls(answer("In 2026. [web-1]", ("web-1",))))
    status, body = client.ask("What is the release date of Starlette?")
    assert status == 200
    assert web.requests == []
    tool_message = json.loads(model.requests[1]["messages"][-1]["content"])
    [passage] = [chunk for chunk in tool_message["chunks"] if chunk["source_type"] == "external"]
    assert passage["keywords"] and passage["date"]
    assert "[1]" not in passage["content"]
    assert body["sources"][0]["source_type"] == "external"
    assert body["sources"][0]["source_url"] == "https://starlette.dev/release"
    usage = {item["keyword_text"]: item["usage_count"] for item in heads_of(items("KEYWORDS_TABLE"))}
    assert usage == {"Starlette release": 2, "ASGI framework": 1}


def test_a_stored_web_answer_stays_in_its_knowledge_base(
    client: Client, model: ScriptedModel, web: ScriptedWeb, index_host: str
) -> None:
    other = Record(id="o#0", text="Other.", title="O", source_file_path="o.md", chunk_index=0, content_hash="h")
    pinecone.connect(host=index_host, api_key=lambda: "k").upsert("other_kb", [other], timeout=20)
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette release"})),
        calls(index("Starlette release"), answer("In 2026. [web-1]", ("web-1",))),
    )
    client.ask("When was Starlette released?", kb_id="other_kb")
    model.plays(calls(search("Starlette release")), calls(answer("Unknown.", (), answered="not_found")))
    client.ask("When was Starlette released?")
    chunks = json.loads(model.requests[1]["messages"][-1]["content"])["chunks"]
    assert all(chunk["source_type"] == "knowledge_base" for chunk in chunks)


def test_missing_keywords_are_requested_once(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette"})),
        calls(answer("In 2026. [web-1]", ("web-1",))),
        calls(index("Starlette release")),
    )
    status, body = client.ask()
    assert (status, body["keyword_count"]) == (200, 1)
    assert offered(model.requests[3]) == ["index_keywords"]
    assert model.requests[3]["messages"][-1]["content"].startswith("[gleaner]")


def test_keywords_are_extracted_if_the_model_never_sends_them(
    client: Client, model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette release date"})),
        calls(answer("In 2026. [web-1]", ("web-1",))),
        says("I indexed them."),
    )
    status, body = client.ask()
    assert (status, body["status"]) == (200, "success")
    assert body["keyword_count"] >= 2
    texts = {item["keyword_text"] for item in heads_of(items("KEYWORDS_TABLE"))}
    assert any("Starlette" in keyword for keyword in texts)


def test_an_answer_survives_a_model_that_fails_when_asked_for_keywords(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    web.finds(WEB_TEXT, *RESULTS)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette release date"})),
        calls(answer("In 2026. [web-1]", ("web-1",))),
        JSONResponse({"error": {"message": "bad"}}, status_code=400),
    )
    status, body = client.ask()
    assert (status, body["answer"]) == (200, "In 2026. [web-1]")
    assert body["keyword_count"] >= 2


@pytest.mark.parametrize(
    "first",
    [says("No tool."), calls(("generate_response", {"answer": "x", "sources": []})), calls(("nothing", {}))],
)
def test_a_missing_search_gets_feedback_and_one_retry(client: Client, model: ScriptedModel, first: Any) -> None:
    model.plays(first, calls(search()), calls(answer()))
    status, body = client.ask()
    assert (status, body["answer"]) == (200, "Merged. [kb-1]")
    feedback = model.requests[1]["messages"][-1]
    assert feedback["role"] == "user"
    assert "knowledge_base_search" in feedback["content"]


def test_a_search_that_is_never_called_is_an_error(client: Client, model: ScriptedModel, items: Any) -> None:
    model.plays(says("No tool."))
    status, body = client.ask()
    assert (status, body["type"]) == (502, "urn:gleaner:problem:mandatory-tool-missing")
    assert body["query_id"]
    assert len(model.requests) == 2
    assert items("CONVERSATIONS_TABLE") == []


def test_a_missing_answer_gets_feedback_and_one_forced_retry(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("Merged."), calls(answer()))
    status, _ = client.ask()
    assert status == 200
    assert model.requests[2]["tool_choice"]["function"]["name"] == "generate_response"


def test_an_answer_that_is_never_called_is_an_error(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("Merged."))
    status, body = client.ask()
    assert (status, body["type"]) == (502, "urn:gleaner:problem:mandatory-tool-missing")
    assert len(model.requests) == 3


def test_every_call_gets_exactly_one_tool_message(client: Client, model: ScriptedModel) -> None:
    model.plays(
        calls(search("a"), search("a"), search("pruned keywords"), ("nothing", {}), ids=["x", "x", "", "y"]),
        calls(answer()),
    )
    assert client.ask()[0] == 200
    messages = model.requests[1]["messages"]
    [assistant] = [message for message in messages if message["role"] == "assistant"]
    call_ids = [call["id"] for call in assistant["tool_calls"]]
    assert len(set(call_ids)) == 4
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == call_ids


def test_a_failing_web_search_is_reported_to_the_model_and_not_offered_again(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    web.fails(401)
    model.plays(calls(search()), calls(("perplexity_search", {"query": "x"})), calls(answer()))
    status, body = client.ask()
    assert (status, body["status"]) == (200, "fallback")
    assert "perplexity_search" not in offered(model.requests[2])
    result = json.loads(model.requests[2]["messages"][-1]["content"])
    assert result["error"]["code"] == "unavailable"


def test_strict_grounding_never_offers_the_web(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(web()), calls(answer()))
    status, _ = client.ask(grounding="strict")
    assert status == 200
    assert all("perplexity_search" not in offered(request) for request in model.requests)


def test_a_provider_without_forced_tool_choice_is_supported(client: Client, model: ScriptedModel) -> None:
    def picky(request: dict[str, Any]) -> Any:
        if request["tool_choice"] != "auto":
            body = {"error": {"message": "tool_choice must be auto", "param": "tool_choice", "code": None}}
            return JSONResponse(body, status_code=400)
        return calls(search()) if offered(request) == ["knowledge_base_search"] else calls(answer())

    model.plays(picky)
    assert client.ask()[0] == 200
    model.plays(picky)
    assert client.ask()[0] == 200
    assert {request["tool_choice"] for request in model.requests} == {"auto"}


def test_a_session_is_created_and_continued(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    _, first = client.ask("How are duplicates merged?")
    model.plays(calls(search()), calls(answer()))
    status, second = client.ask("And pruned?", session_id=first["session_id"])
    assert (status, second["session_id"]) == (200, first["session_id"])
    conversation = [(m["role"], m["content"]) for m in model.requests[0]["messages"][1:]]
    assert conversation == [
        ("user", "How are duplicates merged?"),
        ("assistant", "Merged."),
        ("user", "And pruned?"),
    ]


def test_another_callers_session_is_unknown(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    _, first = client.ask()
    body = {"query": "x", "session_id": first["session_id"]}
    theirs = client.post("/api/chat/query", body, caller="somebody")
    unknown = client.post("/api/chat/query", {"query": "x", "session_id": "0" * 26})
    for status, problem in (theirs, unknown):
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-session")
    assert theirs[1]["detail"] == unknown[1]["detail"]


@pytest.mark.parametrize("is_compact", [True, False])
def test_every_tool_call_is_recorded(
    settings: dict[str, str], client: Client, model: ScriptedModel, items: Any, is_compact: bool
) -> None:
    if not is_compact:
        keep_former_form(settings)
    model.plays(calls(search()), calls(answer("Merged.", ("kb-9",))), calls(answer()))
    _, body = client.ask()
    stored = sorted(items("TOOL_CALLS_TABLE"), key=lambda item: item["sk"])
    assert len(stored) == (1 if is_compact else 3)
    for name in ("tool_name", "status"):  # few tools and two statuses would otherwise share all writes of an index
        assert {item[name].rpartition("#")[2] for item in stored} <= {"00", "01", "02", "03"}
    records = [record for item in stored for record in read_records(item)]
    assert [(r.tool_name, r.status, r.retry_count) for r in records] == [
        ("knowledge_base_search", "success", 0),
        ("generate_response", "error", 0),
        ("generate_response", "success", 1),
    ]
    assert {(r.query_id, r.session_id, r.owner) for r in records} == {
        (body["query_id"], body["session_id"], "key:local")
    }
    assert str(records[1].error_message).startswith("Unknown source ids: kb-9")
