"""Failing services end in a fallback answer or a typed problem, and nothing internal is revealed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from gleaner.knowledge import retrieval
from gleaner_local.servers.asgi import AsgiServer
from tests.conftest import Client, make_api
from tests.doubles import pinecone_limits
from tests.doubles.cut_response import CutResponse
from tests.doubles.model_faults import api_error
from tests.doubles.scripted_index import ScriptedIndex, hit, hits, odd_hits
from tests.doubles.scripted_model import Reply, ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.stalling import stalling
from tests.doubles.turns import TurnChecks
from tests.doubles.web_faults import WEB_FAULTS, WEB_ODDITIES, faulty, page

SECRETS = ("secret", "Traceback", "httpx", "botocore", "pinecone.")
NO_SOURCES = calls(answer("The knowledge base does not say.", (), answered="not_found"))
ASK_WEB = calls(("perplexity_search", {"query": "starlette release"}))
PAGE = result(1, "https://starlette.dev/release", "Starlette release notes")
ODD_HITS = odd_hits(hit("a#0", text="Merged.", title="Handbook"))


@pytest.fixture(scope="module")
def vectors() -> Iterator[tuple[ScriptedIndex, str]]:
    scripted = ScriptedIndex()
    server = AsgiServer(scripted.app)
    server.start()
    yield scripted, server.url
    server.stop()


@pytest.fixture(scope="module")
def over_scripted_index(environment: dict[str, str], vectors: tuple[ScriptedIndex, str]) -> Client:
    return Client(make_api(environment | {"PINECONE_INDEX_HOST": vectors[1]}))


@pytest.fixture(scope="module")
def steady(environment: dict[str, str]) -> Client:
    """A shared process, for faults after which no state remains."""
    return Client(make_api(environment))


@pytest.fixture
def client(environment: dict[str, str]) -> Client:
    """A new process, because a process remembers services that keep failing."""
    return Client(make_api(environment))


@pytest.fixture
def turns(stored_turns: TurnChecks) -> TurnChecks:
    stored_turns.new()
    return stored_turns


def require_nothing_internal(*outputs: Any) -> None:
    assert not any(secret in json.dumps(outputs) for secret in SECRETS)


def tool_results(model: ScriptedModel) -> list[Any]:
    """The tool results in the last request to the model, decoded."""
    return [json.loads(m["content"]) for m in model.requests[-1]["messages"] if m["role"] == "tool"]


# Faults of the language model: without it there is no answer.


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (api_error(401, "secret key sk-1"), (503, "model-unavailable")),
        (api_error(403, "secret key sk-1"), (503, "model-unavailable")),
        (api_error(404, "no model secret"), (503, "model-unavailable")),
        (api_error(400, "secret prompt"), (503, "model-unavailable")),
        (page(502), (503, "model-unavailable")),
        (page(302, location="http://127.0.0.1:9/secret"), (503, "model-unavailable")),
        (JSONResponse({"error": "secret"}, 429, {"Retry-After": "3600"}), (503, "model-unavailable")),
        (CutResponse(b"secret" * 100), (503, "model-unavailable")),
    ],
)
@pytest.mark.parametrize("place", ["search", "answer"])
def test_a_model_that_keeps_failing_is_a_problem(
    steady: Client, model: ScriptedModel, turns: TurnChecks, reply: Reply, expected: tuple[int, str], place: str
) -> None:
    model.plays(*([reply] if place == "search" else [calls(search()), reply]))
    status, body = steady.ask()
    assert (status, body["type"]) == (expected[0], f"urn:gleaner:problem:{expected[1]}")
    require_nothing_internal(body)
    assert len(model.requests) <= 4
    assert turns.new() == 0


def test_the_models_retry_after_is_respected_if_time_allows(
    steady: Client, model: ScriptedModel, turns: TurnChecks
) -> None:
    request_times: list[float] = []

    def busy(_request: dict[str, Any]) -> Response:
        request_times.append(time.monotonic())
        return JSONResponse({"error": {"message": "m"}}, 429, {"Retry-After": "1"})

    def ready(_request: dict[str, Any]) -> Any:
        request_times.append(time.monotonic())
        return calls(search())

    model.plays(busy, ready, calls(answer()))
    assert steady.ask()[0] == 200
    assert request_times[1] - request_times[0] >= 1
    assert turns.new() == 1


def test_a_model_that_cannot_be_reached_is_a_problem(environment: dict[str, str], turns: TurnChecks) -> None:
    client = Client(make_api(environment | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}))
    status, body = client.ask()
    assert (status, body["type"]) == (503, "urn:gleaner:problem:model-unavailable")
    require_nothing_internal(body)
    assert turns.new() == 0


@pytest.mark.parametrize("drips", [False, True])
def test_a_hanging_model_is_a_problem_at_the_deadline(
    environment: dict[str, str], turns: TurnChecks, drips: bool
) -> None:
    with stalling(drips=drips) as url:
        status, body = Client(
            make_api(environment | {"OPENAI_BASE_URL": f"{url}/v1", "QUERY_DEADLINE_SECONDS": "0.7"})
        ).ask()
    assert (status, body["type"]) == (504, "urn:gleaner:problem:deadline-exceeded")
    assert turns.new() == 0


# Faults of the knowledge base: they are reported to the model.


@pytest.mark.parametrize(
    "reply",
    [
        hits(),
        JSONResponse({"error": {"code": "NOT_FOUND", "message": "Namespace not found"}, "status": 404}, 404),
        JSONResponse({"code": 5, "message": "namespace default_kb does not exist", "details": []}, 404),
    ],
)
def test_an_empty_knowledge_base_is_not_a_failure(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks, reply: Any
) -> None:
    vectors[0].gives(reply)
    model.plays(calls(search()), NO_SOURCES)
    status, body = over_scripted_index.ask()
    assert (status, body["status"], body["sources"]) == (200, "success", [])
    assert tool_results(model)[0]["chunks"] == []
    assert turns.new() == 1


def test_records_of_other_writers_are_served_with_the_fields_they_have(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks
) -> None:
    vectors[0].gives(
        hits(
            hit("a#3", text="Merged by a conditional write."),
            hit("b"),
            hit("c", text=7),
            hit("d", score=7.5, text="Merged.", page_number="x", title=None, chunk_index=-1.5),
        )
    )
    model.plays(calls(search()), calls(answer()))
    status, body = over_scripted_index.ask()
    assert (status, body["status"], body["sources"][0]["id"]) == (200, "success", "kb-1")
    chunks = tool_results(model)[0]["chunks"]
    assert [chunk["chunk_index"] for chunk in chunks if chunk["title"] == "a"] == [3]
    assert all(0 <= chunk["score"] <= 1 and chunk["content"] for chunk in chunks)
    assert turns.new() == 1


@pytest.mark.parametrize(
    "reply",
    [
        JSONResponse({"error": {"message": "secret"}}, 400),
        JSONResponse({"error": {"message": "secret key"}}, 401),
        JSONResponse({"error": {"message": "secret"}}, 404),
        Response("{", media_type="application/json"),
        JSONResponse({"result": {"hits": "secret"}}),
        JSONResponse({"result": {"hits": [{"_id": 7, "_score": "secret"}]}}),
        JSONResponse([]),
        page(200),
    ],
)
def test_a_failing_knowledge_base_is_reported_to_the_model_and_the_answer_is_a_fallback(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks, reply: Any
) -> None:
    require_kb_fallback(over_scripted_index, vectors[0], model, turns, reply)


@pytest.mark.parametrize("oddity", ODD_HITS)
def test_what_is_good_in_a_search_result_is_used(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks, oddity: str
) -> None:
    vectors[0].gives(ODD_HITS[oddity])
    model.plays(calls(search()), calls(answer()))
    status, body = over_scripted_index.ask()
    assert (status, body["status"], [source["id"] for source in body["sources"]]) == (200, "success", ["kb-1"]), body
    (chunk,) = tool_results(model)[0]["chunks"]
    assert chunk["content"] == "Merged." and 0 <= chunk["score"] <= 1
    assert turns.new() == 1


@pytest.mark.slow  # the SDK retries these for as long as it may
@pytest.mark.parametrize(
    "reply",
    [
        JSONResponse({"error": {"message": "secret"}}, 429),
        JSONResponse({"error": {"message": "secret"}}, 429, {"Retry-After": "60"}),
        JSONResponse({"error": {"message": "secret"}}, 500),
        page(503),
        CutResponse(b"secret" * 100),
    ],
)
def test_a_knowledge_base_that_keeps_failing_is_reported_within_its_time_limit(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks, reply: Any
) -> None:
    require_kb_fallback(over_scripted_index, vectors[0], model, turns, reply)


def require_kb_fallback(
    client: Client, scripted: ScriptedIndex, model: ScriptedModel, turns: TurnChecks, reply: Any
) -> None:
    scripted.gives(reply)
    model.plays(calls(search()), NO_SOURCES)
    status, body = client.ask()
    assert (status, body["status"], body["sources"]) == (200, "fallback", []), body
    assert tool_results(model)[0]["error"]["code"] == "unavailable"
    require_nothing_internal(body, tool_results(model))
    assert turns.new() == 1


@pytest.mark.parametrize(
    ("message", "searches", "found"),
    [
        (pinecone_limits.QUERIES_A_SECOND, 2, True),
        (pinecone_limits.READS_A_MONTH, 2, False),  # once for each of the model's two searches
    ],
)
def test_a_search_that_the_index_refuses_for_now_is_sent_again_unseen(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, message: str, searches: int, found: bool
) -> None:
    refusal = pinecone_limits.as_grpc(message)
    vectors[0].gives(*([refusal, hits(hit("a#0", text="Merged.", title="Handbook"))] if found else [refusal]))
    model.plays(calls(search()), *([calls(answer())] if found else [calls(search("b")), NO_SOURCES]))
    status, body = over_scripted_index.ask()
    assert (status, body["status"], vectors[0].searches) == (200, "success" if found else "fallback", searches), body
    require_nothing_internal(body, tool_results(model))


def test_a_failed_knowledge_base_search_may_be_retried_once(
    over_scripted_index: Client, vectors: Any, model: ScriptedModel, turns: TurnChecks
) -> None:
    failing = JSONResponse({"error": {"message": "secret"}}, 400)
    vectors[0].gives(failing, hits(hit("a#0", text="Merged.", title="Handbook")))
    model.plays(calls(search("a")), calls(search("a")), calls(answer()))
    status, body = over_scripted_index.ask()
    assert (status, body["status"], len(body["sources"])) == (200, "fallback", 1)
    vectors[0].gives(failing)
    model.plays(calls(search("a")), calls(search("b")), NO_SOURCES)
    status, body = over_scripted_index.ask()
    assert (status, vectors[0].searches) == (200, 2)
    offered = [tool["function"]["name"] for tool in model.requests[-1]["tools"]]
    assert "knowledge_base_search" not in offered
    assert turns.new() == 2


@pytest.mark.parametrize("drips", [False, True])
def test_a_hanging_knowledge_base_leaves_time_for_the_answer(
    environment: dict[str, str], model: ScriptedModel, turns: TurnChecks, drips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "_MAX_SEARCH_SECONDS", 0.5)  # a busy machine needs the rest for the answer
    with stalling(drips=drips) as url:
        client = Client(make_api(environment | {"PINECONE_INDEX_HOST": url}))
        model.plays(calls(search()), NO_SOURCES)
        status, body = client.ask()
    assert (status, body["status"], body["sources"]) == (200, "fallback", [])
    assert turns.new() == 1


# Faults of the web search: they are reported to the model, too, and a web search that keeps failing is skipped.


@pytest.mark.parametrize("fault", WEB_FAULTS)
def test_a_failing_web_search_is_reported_to_the_model_and_the_answer_is_a_fallback(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, fault: str
) -> None:
    web.finds("It was released in 2026 [1].", PAGE)
    web.reply = faulty(web.reply, fault)
    keywords = len(turns.items("KEYWORDS_TABLE"))
    model.plays(calls(search()), ASK_WEB, calls(answer()))
    status, body = client.ask()
    assert (status, body["status"], body["answer"]) == (200, "fallback", "Merged. [kb-1]"), body
    assert body["used_external_kb"] is False
    assert tool_results(model)[-1]["error"]["code"] == "unavailable"
    require_nothing_internal(body, tool_results(model))
    assert turns.new() == 1
    assert len(turns.items("KEYWORDS_TABLE")) == keywords  # nothing is learned from a failed search


def test_what_is_good_in_web_answers_is_used_and_keeps_the_web_open(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks
) -> None:
    for oddity in WEB_ODDITIES:  # in one process: several in a row do not pause the web search
        web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
        web.reply = faulty(web.reply, oddity)
        model.plays(calls(search()), ASK_WEB, calls(index("Starlette release"), answer("In 2026. [web-1]", ("web-1",))))
        status, body = client.ask(f"release {oddity}")
        assert (status, body["status"], body["answer"]) == (200, "success", "In 2026. [web-1]"), (oddity, body)
        assert body["cost"]["estimated_usd"] is None or body["cost"]["estimated_usd"] >= 0
        assert all(len(result.get("answer", "")) < 40_000 for result in tool_results(model))
    assert turns.new() == len(WEB_ODDITIES)


def test_only_pages_with_a_web_address_are_kept_from_a_web_answer(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks
) -> None:
    hostile_page = result(2, "javascript:alert(1)", "Bad")
    web.finds("In 2026 [1][2][3].", PAGE, hostile_page, {"id": 3, "title": "No address"})
    model.plays(calls(search()), ASK_WEB, calls(index("Starlette release"), answer("In 2026. [web-1]", ("web-1",))))
    status, body = client.ask("release of one page")
    assert (status, body["status"]) == (200, "success")
    assert [source["source_url"] for source in body["sources"]] == [PAGE["url"]]
    stored = [item for item in turns.items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
    assert all("javascript" not in json.dumps(item["content"]) for item in stored)


@pytest.mark.parametrize("drips", [False, True])
def test_a_hanging_web_search_leaves_time_for_the_answer(
    environment: dict[str, str], model: ScriptedModel, turns: TurnChecks, drips: bool
) -> None:
    with stalling(drips=drips) as url:
        client = Client(make_api(environment | {"PERPLEXITY_BASE_URL": url, "QUERY_DEADLINE_SECONDS": "7.5"}))
        model.plays(calls(search()), ASK_WEB, calls(answer()))
        status, body = client.ask()
    assert (status, body["status"], body["answer"]) == (200, "fallback", "Merged. [kb-1]")
    assert turns.new() == 1


def test_a_dead_web_search_is_skipped_by_later_questions(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks
) -> None:
    for _ in range(4):
        web.fails(401)
        model.plays(calls(search()), ASK_WEB, calls(answer()))
        status, body = client.ask()
        assert (status, body["status"]) == (200, "fallback")
    assert web.requests == []  # for the last question
    assert "paused" in tool_results(model)[-1]["error"]["message"]
    assert turns.new() == 4


def test_if_everything_but_the_model_fails_the_answer_has_no_sources(
    environment: dict[str, str], model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks
) -> None:
    client = Client(make_api(environment | {"PINECONE_INDEX_HOST": "http://127.0.0.1:9"}))
    web.fails(401)
    model.plays(calls(search()), ASK_WEB, NO_SOURCES)
    status, body = client.ask()
    assert (status, body["status"], body["sources"]) == (200, "fallback", [])
    assert (body["used_internal_kb"], body["used_external_kb"]) == (False, False)
    assert turns.new() == 1
