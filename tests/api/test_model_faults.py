"""Misbehaving models: every fault ends in an answer or a typed problem, and leaves no incomplete turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Client, make_api
from tests.doubles.model_faults import ANSWER_FAULTS, ANSWER_ODDITIES, FAULTS, ODDITIES, REFUSALS, api_error
from tests.doubles.scripted_model import Reply, ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.turns import TurnChecks

TYPES = {  # problem types that a misbehaving model may cause
    "mandatory-tool-missing": 502,
    "answer-rejected": 502,
    "model-unavailable": 503,
    "context-too-long": 413,
}
MAX_MODEL_CALLS = 10
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what every provider takes back
SEARCH, ANSWER = search(), answer(confidence_score=0.9)


@pytest.fixture(scope="module")
def client(environment: dict[str, str]) -> Client:
    """One process that meets all faults one after the other, as a Lambda environment does."""
    return Client(make_api(environment))


@pytest.fixture
def turns(stored_turns: TurnChecks, model: ScriptedModel) -> Iterator[TurnChecks]:
    """The stored turns of one test; at its end, all requests to the model must follow the protocol."""
    stored_turns.new()
    yield stored_turns
    for request in model.requests:
        require_protocol(request["messages"])


def require_protocol(messages: list[dict[str, Any]]) -> None:
    """Require that every call of an assistant message has a unique id, a JSON object as arguments, and one result."""
    pending: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert pending.pop(0) == message["tool_call_id"]
            continue
        assert not pending
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert NAME.fullmatch(call["function"]["name"])
            assert call["id"] not in pending
            pending.append(call["id"])
    assert not pending


def require_answer(status: int, body: Any, model: ScriptedModel) -> None:
    assert (status, body["status"], body["answer"]) == (200, "success", "Merged. [kb-1]"), body
    assert [source["id"] for source in body["sources"]] == ["kb-1"]
    assert body["used_tools"][0] == "knowledge_base_search"
    assert len(model.requests) <= MAX_MODEL_CALLS


@pytest.mark.parametrize("place", [pytest.param("search", marks=pytest.mark.slow), "answer"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_transient_fault_ends_in_an_answer(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str, place: str
) -> None:
    inject = FAULTS[fault]
    model.plays(
        *([inject(SEARCH), calls(SEARCH)] if place == "search" else [calls(SEARCH), inject(ANSWER)]), calls(ANSWER)
    )
    require_answer(*client.ask(), model)
    assert turns.new() == 1


@pytest.mark.parametrize("place", [pytest.param("search", marks=pytest.mark.slow), "answer"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_persistent_fault_ends_in_a_problem(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str, place: str
) -> None:
    inject = FAULTS[fault]
    model.plays(*([inject(SEARCH)] if place == "search" else [calls(SEARCH), inject(ANSWER)]))
    require_problem(*client.ask(), model)
    assert turns.new() == 0


def require_problem(status: int, body: Any, model: ScriptedModel) -> None:
    assert status == TYPES[body["type"].removeprefix("urn:gleaner:problem:")], body
    assert body["query_id"]
    assert not any(word in json.dumps(body) for word in ("secret", "Traceback", "[gleaner]"))
    assert len(model.requests) <= MAX_MODEL_CALLS


@pytest.mark.parametrize("place", [pytest.param("search", marks=pytest.mark.slow), "answer"])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_told_at_once(
    client: Client, model: ScriptedModel, turns: TurnChecks, refusal: str, place: str
) -> None:
    refuse = REFUSALS[refusal]
    model.plays(*([refuse(SEARCH)] if place == "search" else [calls(SEARCH), refuse(ANSWER)]), calls(ANSWER))
    status, body = client.ask()
    assert (status, body["type"]) == (422, "urn:gleaner:problem:answer-refused")
    assert "other words" in body["detail"] and "again" not in body["detail"].lower()
    assert "secret" not in json.dumps(body)
    assert len(model.requests) == (1 if place == "search" else 2)
    assert turns.new() == 0


@pytest.mark.parametrize("refusal", ["finish_reason content_filter", "400 of Azure", "a refusal"])
def test_a_refusal_to_name_keywords_costs_no_answer(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, refusal: str
) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    refuse = REFUSALS[refusal](index("Starlette"))
    model.plays(calls(SEARCH), calls(("perplexity_search", {"query": refusal})), calls(ANSWER), refuse)
    status, body = client.ask()
    assert (status, body["answer"]) == (200, "Merged. [kb-1]"), body
    assert body["keyword_count"] >= 1
    assert turns.new() == 1


@pytest.mark.parametrize("fault", ANSWER_FAULTS)
def test_an_unacceptable_answer_is_never_delivered(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str
) -> None:
    faulty_turn = ANSWER_FAULTS[fault]
    model.plays(calls(SEARCH), faulty_turn, calls(ANSWER))
    require_answer(*client.ask(), model)
    rejection = [message for message in model.requests[2]["messages"] if message["role"] == "tool"][-1]
    assert json.loads(rejection["content"])["error"]["message"]
    assert turns.new() == 1
    model.plays(calls(SEARCH), faulty_turn)
    status, body = client.ask()
    assert (status, body["type"]) == (502, "urn:gleaner:problem:answer-rejected")
    assert turns.new() == 0


@pytest.mark.parametrize("oddity", ANSWER_ODDITIES)
def test_what_is_good_in_an_answer_is_delivered(
    client: Client, model: ScriptedModel, turns: TurnChecks, oddity: str
) -> None:
    model.plays(calls(SEARCH), ANSWER_ODDITIES[oddity])
    status, body = client.ask()
    assert (status, body["answer"].strip()) == (200, "Merged. [kb-1]"), body
    assert [source["id"] for source in body["sources"]] == ["kb-1"]
    assert turns.new() == 1


@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_unambiguous_oddity_costs_no_retry(
    client: Client, model: ScriptedModel, turns: TurnChecks, oddity: str
) -> None:
    distort = ODDITIES[oddity]
    model.plays(distort(SEARCH), distort(ANSWER))
    require_answer(*client.ask(), model)
    assert len(model.requests) == 2
    assert turns.new() == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_web_answer_is_indexed_whatever_the_model_does(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, fault: str
) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    faulty_turn: Reply = FAULTS[fault](index("Starlette release"))
    model.plays(calls(SEARCH), calls(("perplexity_search", {"query": fault})), faulty_turn, calls(ANSWER), faulty_turn)
    status, body = client.ask()
    assert (status, body["answer"]) == (200, "Merged. [kb-1]"), body
    assert body["keyword_count"] >= 1
    assert turns.new() == 1


KEYWORDS = ["Starlette release", "ASGI framework"]


@pytest.mark.parametrize(
    "keywords",
    [
        json.dumps(KEYWORDS),
        json.dumps(json.dumps(KEYWORDS)),
        json.dumps(KEYWORDS, indent=1),
        "Starlette release, ASGI framework",
        "Starlette release; ASGI framework;",
        "Starlette release\nASGI framework",
        " Starlette release ,, ASGI framework ",
        '["Starlette release", "ASGI framework", null, 7]',
        [*KEYWORDS, None, {"keyword": "x"}],
        [*KEYWORDS, "Starlette\ud800 release"],
    ],
)
def test_keywords_may_come_as_a_text(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, keywords: Any
) -> None:
    page = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette is an ASGI framework.")
    web.finds("It was released in 2026 [1].", page)
    learn = ("index_keywords", {"keywords": keywords})
    model.plays(calls(SEARCH), calls(("perplexity_search", {"query": "Starlette release"})), calls(learn, ANSWER))
    status, body = client.ask()
    assert (status, body["keyword_count"]) == (200, 2), body
    (learned,) = [message for message in model.requests[-1]["messages"] if "indexed" in str(message["content"])] or [{}]
    assert len(model.requests) == 3, learned
    assert turns.new() == 1


@pytest.mark.parametrize("keywords", ["[", '"', "7", "null", "{}", ",;", ""])
def test_a_text_that_holds_no_keywords_is_refused_in_band(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, keywords: str
) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    learn = ("index_keywords", {"keywords": keywords})
    model.plays(calls(SEARCH), calls(("perplexity_search", {"query": "release"})), calls(learn), calls(ANSWER))
    status, body = client.ask()
    assert status == 200
    assert body["keyword_count"] >= 1  # extracted by the service
    assert turns.new() == 1


@pytest.mark.parametrize("order", [(SEARCH, answer("Guessed.", ())), (answer("Guessed.", ()), SEARCH)])
def test_an_answer_in_the_same_turn_as_a_search_is_refused(
    client: Client, model: ScriptedModel, turns: TurnChecks, order: Any
) -> None:
    model.plays(calls(*order), calls(ANSWER))
    require_answer(*client.ask(), model)
    assert turns.new() == 1
    model.plays(calls(SEARCH), calls(*(answer("Guessed.", ()), search("pruning"))), calls(ANSWER))
    require_answer(*client.ask(), model)
    results = [json.loads(m["content"]) for m in model.requests[2]["messages"] if m["role"] == "tool"]
    assert "error" in results[1] and "chunks" in results[2]


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("Invalid value: 'required'.", {"param": "tool_choice"}),
        ("tool_choice must be auto", {}),
        ("This model does not support forced tool choice in thinking mode", {}),
    ],
)
def test_a_provider_that_refuses_tool_choice_gets_requests_without_it(
    environment: dict[str, str], model: ScriptedModel, status: int, message: str, more: Any
) -> None:
    client = Client(make_api(environment))  # a process remembers what the provider refuses

    def picky(request: dict[str, Any]) -> Any:
        if request["tool_choice"] != "auto":
            return api_error(status, message, **more)
        return calls(SEARCH) if len(request["tools"]) == 1 else calls(ANSWER)

    model.plays(picky)
    require_answer(*client.ask(), model)
    model.plays(picky)
    require_answer(*client.ask(), model)
    assert len(model.requests) == 2


def test_a_provider_that_refuses_tools_is_unavailable(
    environment: dict[str, str], model: ScriptedModel, turns: TurnChecks
) -> None:
    model.plays(api_error(400, "tool_choice is not supported"))
    require_problem(*Client(make_api(environment)).ask(), model)
    assert turns.new() == 0


def an_endless_caller(*tools: str) -> Any:
    """Always calls the first offered one of these tools with new arguments, and never answers unless forced."""
    make_call = {
        "knowledge_base_search": lambda n: search(f"keywords {n}"),
        "perplexity_search": lambda n: ("perplexity_search", {"query": f"keywords {n}"}),
        "index_keywords": lambda n: index(f"Keyword {n}"),
        "generate_response": lambda _: ANSWER,
    }

    def play(request: dict[str, Any]) -> Any:
        offered = [tool["function"]["name"] for tool in request["tools"]]
        tool = next((name for name in tools if name in offered), "generate_response")
        return calls(make_call[tool](len(request["messages"])))

    return play


@pytest.mark.parametrize(
    "tools",
    [
        ("knowledge_base_search",),
        ("perplexity_search", "knowledge_base_search"),
        ("index_keywords", "perplexity_search", "knowledge_base_search"),
    ],
)
def test_a_model_that_keeps_calling_tools_is_forced_to_answer(
    client: Client, model: ScriptedModel, web: ScriptedWeb, turns: TurnChecks, tools: tuple[str, ...]
) -> None:
    web.finds("It was released [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    model.plays(an_endless_caller(*tools))
    status, body = client.ask()
    assert (status, body["answer"]) == (200, "Merged. [kb-1]")
    assert len(web.requests) <= 2
    assert len(model.requests) <= MAX_MODEL_CALLS
    assert turns.new() == 1


def test_limits_apply_within_one_turn(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds("It was released [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    searches = [search(f"keywords {n}") for n in range(30)]
    web_searches = [("perplexity_search", {"query": f"release {n}"}) for n in range(6)]
    model.plays(calls(*searches), calls(*web_searches), calls(index("Starlette release"), ANSWER))
    require_answer(*client.ask(), model)
    first = [json.loads(m["content"]) for m in model.requests[1]["messages"] if m["role"] == "tool"]
    assert (len(first), sum("chunks" in result for result in first)) == (30, 3)
    assert len(web.requests) == 2


def test_identical_calls_get_the_first_result(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds("It was released [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    web_search = ("perplexity_search", {"query": "release"})
    model.plays(
        calls(SEARCH, SEARCH, SEARCH, SEARCH),
        calls(web_search, web_search, web_search),
        calls(web_search, index("Starlette"), ANSWER),
    )
    require_answer(*client.ask(), model)
    assert (len(model.requests), len(web.requests)) == (3, 1)  # the repeated search had no new result to read first
    results = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(set(results[:4])) == 1 and len(set(results[4:7])) == 1


def test_a_conversation_that_grew_too_long_is_shortened_once(
    client: Client, model: ScriptedModel, turns: TurnChecks
) -> None:
    too_long = api_error(400, "This model's maximum context length is 8192 tokens.")
    model.plays(calls(SEARCH), ANSWER_FAULTS["an answer of 300 KB"], too_long, calls(ANSWER))
    require_answer(*client.ask(), model)
    before, after = (len(json.dumps(request)) for request in model.requests[2:])
    assert before > 300_000
    assert after < 30_000
    assert turns.new() == 1
    for refusal in (too_long, api_error(413, "Payload too large"), api_error(400, "m", code="context_length_exceeded")):
        model.plays(calls(SEARCH), refusal)
        status, body = client.ask()
        assert (status, body["type"]) == (413, "urn:gleaner:problem:context-too-long")
        assert len(model.requests) == 3
        assert turns.new() == 0


@pytest.mark.parametrize(
    "text",
    [
        "Use `items[1]` and `[kb-9]`. [kb-1]",
        "```python\nrow = rows[1]  # [kb-9] [web-3]\n```\nMerged. [kb-1]",
    ],
)
def test_a_mark_in_code_is_not_a_citation(client: Client, model: ScriptedModel, turns: TurnChecks, text: str) -> None:
    model.plays(calls(SEARCH), calls(answer(text)))
    status, body = client.ask()
    assert (status, body["answer"]) == (200, text)
    assert [source["id"] for source in body["sources"]] == ["kb-1"]
    assert turns.new() == 1


def test_a_model_whose_reply_was_cut_off_is_told_to_shorten_it(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(SEARCH), FAULTS["arguments cut off, finish_reason length"](ANSWER), calls(ANSWER))
    require_answer(*client.ask(), model)
    assert "shorter" in model.requests[2]["messages"][-1]["content"]


def test_a_model_that_never_calls_anything_costs_two_calls(client: Client, model: ScriptedModel) -> None:
    model.plays(says("The answer is 42."))
    require_problem(*client.ask(), model)
    assert len(model.requests) == 2
