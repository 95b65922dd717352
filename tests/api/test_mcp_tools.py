"""What the tools of the Model Context Protocol do, and whose rights they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import Response

from gleaner.model import Record
from tests.api.test_passages import QUESTION, learn, put
from tests.conftest import MERGING, PRUNING, Client, limit_callers, make_api
from tests.doubles.mcp_calls import call, post, request, send, structured
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.doubles.scripted_web import ScriptedWeb


def record(document: str, number: int, source_url: str | None = None) -> Record:
    return Record(
        id=f"{document}#{number}",
        text=f"Words {number}.",
        title=document.title(),
        source_file_path=f"{document}.md",
        chunk_index=number,
        content_hash="h",
        source_url=source_url,
    )


def test_search_and_fetch_keep_the_contract_of_chatgpt(client: Client) -> None:
    results = structured(client, "search", query="How are duplicates merged?")["results"]
    assert results[0]["title"] == "Handbook – Keywords"
    read = structured(client, "fetch", id=results[0]["id"])
    assert read.keys() == {"id", "title", "text", "url", "metadata"}
    assert (read["text"], read["url"]) == (f"{MERGING}\n\n{PRUNING}", results[0]["url"])
    document = structured(client, "fetch", id=read["metadata"]["document"])
    assert (document["title"], document["text"]) == ("Handbook", f"{MERGING}\n\n{PRUNING}")


def test_a_document_is_read_in_parts(client: Client, settings: dict[str, str]) -> None:
    put(settings, "long_kb", *(record("long", number) for number in range(150)))
    first = structured(client, "fetch", id="document/long_kb/long")
    assert first["text"].split("\n\n") == [f"Words {number}." for number in range(100)]
    second = structured(client, "fetch", id=first["metadata"]["next"])
    assert second["text"].startswith("Words 100.")
    assert "next" not in second["metadata"]
    assert second["title"] == "Long"
    for start in (150, 100_000):
        past = call(client, "fetch", id=f"document/long_kb/long/{start}")
        assert past["isError"]
        assert "it has 150 passages" in past["content"][0]["text"]


def test_addresses_are_those_of_pages_or_absolute_ones_of_passages(client: Client, settings: dict[str, str]) -> None:
    put(settings, "linked", record("page", 0, source_url="https://example.org/page"), record("file", 0))
    headers = {"Host": "api.example.org", "X-Forwarded-Proto": "https"}
    arguments = {"query": "Words 0.", "kb_id": "linked"}
    _, body = send(client, "tools/call", name="search", arguments=arguments, headers=headers)
    urls = {result["title"]: result["url"] for result in body["result"]["structuredContent"]["results"]}
    assert urls["Page"] == "https://example.org/page"
    assert urls["File"].startswith("https://api.example.org/api/passages/linked.")


def test_a_client_reads_what_is_visible_and_nothing_else(client: Client, settings: dict[str, str]) -> None:
    text = "user: <user>admin</user> [kb-1]\nHidden\U000e0041\u200b words."
    put(settings, "marked", replace(record("page", 0), text=text, title="Ti\u202etle"))
    [result] = structured(client, "search", query="Hidden words", kb_id="marked")["results"]
    assert (result["title"], result["text"]) == ("Title", "user: <user>admin</user> [kb-1] Hidden words.")
    for fetch_id in (result["id"], "document/marked/page"):
        read = structured(client, "fetch", id=fetch_id)
        assert (read["title"], read["text"]) == ("Title", "user: <user>admin</user> [kb-1]\nHidden words.")


def test_stored_web_answers_are_found_and_read_and_count_as_used(
    client: Client, model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    learn(client, model, web)
    [before] = [item["usage_count"] for item in items("KEYWORDS_TABLE") if "usage_count" in item]
    found = [one for one in structured(client, "search", query=QUESTION)["results"] if ".answers." in one["id"]]
    assert found[0]["url"] == "https://q.example/a"
    read = structured(client, "fetch", id=found[0]["id"])
    assert read["text"] == "Quantum computing is used for chemistry."
    assert read["metadata"]["pages"] == "https://q.example/a https://r.example/b"
    assert read["metadata"]["answers"]
    [after] = [item["usage_count"] for item in items("KEYWORDS_TABLE") if "usage_count" in item]
    assert after == before + 1
    listed = structured(client, "list_keywords", query="quantum")
    assert [keyword["keyword_text"] for keyword in listed["keywords"]] == ["quantum computing"]


def test_what_a_caller_learned_alone_is_found_and_read_by_nobody_else(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    learn(client, model, web)

    def ids(caller: str) -> list[str]:
        results = structured(client, "search", caller=caller, query=QUESTION)["results"]
        return [one["id"] for one in results if ".answers." in one["id"]]

    [own] = ids("local")
    assert ids("other") == []
    assert call(client, "fetch", caller="other", id=own)["isError"]
    assert structured(client, "fetch", id=own)["id"] == own


def test_a_caller_reads_only_its_knowledge_bases(settings: dict[str, str]) -> None:
    limit_callers(settings, {"key:guest": ["other_kb"]})
    client = Client(make_api(settings))
    [passage, *_] = structured(client, "search", query="merged")["results"]
    calls_of_guest = [
        call(client, "search", caller="guest", query="merged", kb_id="default_kb"),
        call(client, "fetch", caller="guest", id=passage["id"]),
        call(client, "fetch", caller="guest", id="document/default_kb/book"),
        call(client, "ask", caller="guest", question="How are duplicates merged?", kb_id="default_kb"),
        call(client, "list_keywords", caller="guest", kb_id="default_kb"),
    ]
    texts = [result["content"][0]["text"] for result in calls_of_guest]
    assert all("You may not use" in text for text in texts)
    assert all("Take ids from `search`" in text and "kb_id" not in text for text in texts[1:3])


def test_a_caller_is_told_its_knowledge_bases(settings: dict[str, str]) -> None:
    limit_callers(settings, {"key:guest": ["one_kb", "other_kb"]})
    client = Client(make_api(settings))

    def choices(caller: str) -> list[Any]:
        _, body = post(client, request("tools/list"), caller=caller)
        schemas = [tool["inputSchema"]["properties"] for tool in body["result"]["tools"]]
        return [schema["kb_id"].get("enum") for schema in schemas if "kb_id" in schema]

    assert choices("guest") == [["one_kb", "other_kb"]] * 3
    assert choices("local") == [None] * 3


@pytest.mark.parametrize(
    ("kb_ids", "needs_one"), [(["one_kb"], False), (["one_kb", "default_kb"], False), (["one_kb", "two_kb"], True)]
)
def test_who_has_several_knowledge_bases_without_the_default_one_must_name_one(
    settings: dict[str, str], kb_ids: list[str], needs_one: bool
) -> None:
    limit_callers(settings, {"key:guest": kb_ids})
    client = Client(make_api(settings))
    _, body = post(client, request("tools/list"), caller="guest")
    required = {tool["name"]: "kb_id" in tool["inputSchema"].get("required", ()) for tool in body["result"]["tools"]}
    assert required == {"search": needs_one, "fetch": False, "ask": needs_one, "list_keywords": False}
    if needs_one:
        for name, arguments in (
            ("search", {"query": "x"}),
            ("ask", {"question": "x"}),
            ("list_keywords", {"query": "x"}),
        ):
            [text] = call(client, name, caller="guest", **arguments)["content"]
            assert text["text"] == "Name one of your knowledge bases as kb_id: one_kb, two_kb."
        assert structured(client, "list_keywords", caller="guest")["keywords"] == []


def test_the_only_knowledge_base_of_a_caller_is_meant_where_none_is_named(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    put(settings, "only_kb", record("page", 0))
    limit_callers(settings, {"key:guest": ["only_kb"]})
    client = Client(make_api(settings))
    [result] = structured(client, "search", caller="guest", query="Words 0.")["results"]
    assert result["title"] == "Page"
    model.plays(calls(search()), calls(answer("Words 0. [kb-1]", ("kb-1",))))
    [source] = structured(client, "ask", caller="guest", question="Which words?", grounding=None)["sources"]
    assert source["id"].startswith("only_kb.")
    assert structured(client, "list_keywords", caller="guest", query="words")["keywords"] == []


def test_a_question_is_a_turn_of_a_session(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Duplicates are merged. [kb-1]", ("kb-1",))))
    asked = structured(client, "ask", question="How are duplicates merged?", grounding="strict")
    assert (asked["answer"], asked["answered"], asked["status"]) == (
        "Duplicates are merged. [kb-1]",
        "found",
        "success",
    )
    [source] = asked["sources"]
    assert (source["mark"], source["title"]) == ("kb-1", "Handbook – Keywords")
    assert MERGING in structured(client, "fetch", id=source["id"])["text"]
    model.plays(calls(search()), calls(answer("By a write. [kb-1]", ("kb-1",))))
    again = structured(client, "ask", question="By what?", session_id=asked["session_id"])
    assert again["session_id"] == asked["session_id"]
    path = f"/api/sessions/{asked['session_id']}/messages"
    assert len(client.request("GET", path)[1]["messages"]) == 4
    _, recorded = client.request("GET", f"/api/queries/{asked['query_id']}/tool-calls")
    assert [one["tool_name"] for one in recorded["tool_calls"]] == ["knowledge_base_search", "generate_response"]


def test_a_question_with_the_same_key_is_answered_once(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Duplicates are merged. [kb-1]", ("kb-1",))))
    arguments = {"question": "How are duplicates merged?"}
    headers = {"Idempotency-Key": "one"}
    first, second = (
        send(client, "tools/call", name="ask", arguments=arguments, headers=headers)[1]["result"] for _ in range(2)
    )
    assert first["structuredContent"]["query_id"] == second["structuredContent"]["query_id"]
    _, body = send(client, "tools/call", name="ask", arguments=arguments, headers={"Idempotency-Key": ["a", "b"]})
    assert body["result"]["isError"]


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("search", {}, "query: is missing"),
        ("search", {"query": "x", "top_k": 3}, "top_k: is not a field"),
        ("search", {"query": "x", "kb_id": "nowhere"}, "There is no knowledge base"),
        ("fetch", {"id": "nothing"}, "no id of a passage"),
        ("fetch", {"id": "nothing"}, "Take ids from `search` or from the sources of `ask`."),
        ("fetch", {"id": "document/default_kb"}, "no id of a document"),
        ("fetch", {"id": "document/default_kb/~?"}, "from the metadata of what `fetch` returned"),
        ("fetch", {"id": "document/default_kb/ä ö"}, "from the metadata of what `fetch` returned"),
        ("fetch", {"id": "document/default_kb/gone"}, "no such document"),
        ("ask", {"question": "x", "session_id": "s"}, "session_id: must be an id"),
        ("ask", {"question": "x", "session_id": "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"}, "session"),
        ("ask", {"question": "x", "grounding": "loose"}, "grounding: must be open or strict"),
        ("list_keywords", {"cursor": "?"}, "cursor"),
    ],
)
def test_a_failed_call_says_what_to_do(client: Client, name: str, arguments: dict[str, Any], part: str) -> None:
    result = call(client, name, **arguments)
    assert result["isError"]
    assert "structuredContent" not in result
    assert part in result["content"][0]["text"]


def test_a_failed_service_is_a_failed_call(client: Client, model: ScriptedModel) -> None:
    model.plays(Response(status_code=500))
    assert "language model" in call(client, "ask", question="Anything?")["content"][0]["text"]


def test_a_batch_asks_one_question(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Merged. [kb-1]", ("kb-1",))))
    question = {"name": "ask", "arguments": {"question": "How are duplicates merged?"}}
    first, second = post(client, [request("tools/call", 1, **question), request("tools/call", 2, **question)])[1]
    assert first["result"]["structuredContent"]["answer"] == "Merged. [kb-1]"
    assert second["error"]["code"] == -32600
