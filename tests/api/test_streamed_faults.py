"""Misbehaving models on a route that streams: every stream ends in the answer or in the problem, never in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Client, make_api
from tests.doubles.event_stream import final_of, texts_of
from tests.doubles.model_faults import ANSWER_FAULTS, ANSWER_ODDITIES, FAULTS, ODDITIES, REFUSALS
from tests.doubles.scripted_model import Reply, ScriptedModel, answer, calls, search
from tests.doubles.turns import TurnChecks

PROBLEMS = {  # that a misbehaving model may cause
    "mandatory-tool-missing": 502,
    "answer-rejected": 502,
    "model-unavailable": 503,
    "context-too-long": 413,
    "answer-refused": 422,
}
SEARCH, ANSWER = search(), answer(confidence_score=0.9)
OK = calls(ANSWER)
AT_SEARCH = {name: [make(SEARCH), calls(SEARCH), OK] for name, make in (FAULTS | ODDITIES | REFUSALS).items()}
AT_ANSWER: dict[str, list[Reply]] = {
    name: [calls(SEARCH), make(ANSWER), OK] for name, make in (FAULTS | ODDITIES | REFUSALS).items()
} | {name: [calls(SEARCH), reply, OK] for name, reply in (ANSWER_FAULTS | ANSWER_ODDITIES).items()}


@pytest.fixture(scope="module")
def client(environment: dict[str, str]) -> Client:
    """One process that meets all faults one after the other, as a Lambda environment does."""
    return Client(make_api(environment))


@pytest.fixture
def turns(stored_turns: TurnChecks) -> Iterator[TurnChecks]:
    """The stored turns of one test."""
    stored_turns.new()
    yield stored_turns


def require_end(client: Client, turns: TurnChecks) -> int:
    """Ask, and require that the stream ends as the protocol says and that the turn is kept if it is answered."""
    status, parts = client.follow({"query": "How are duplicates merged?"})
    assert status == 200
    status, body = final_of(parts)
    assert texts_of(parts) == ([body["answer"]] if status == 200 else [])
    assert turns.new() == (status == 200)
    if status != 200:
        assert status == PROBLEMS[body["type"].removeprefix("urn:gleaner:problem:")], body
    assert not any(word in json.dumps(parts) for word in ("secret", "Traceback", "[gleaner]"))
    return status


# Quick: answers that cannot be accepted, but for one that takes as long as all others.
QUICK = set(ANSWER_FAULTS) - {"an answer of 300 KB"}


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in AT_ANSWER]
)
def test_a_fault_at_the_answer_ends_the_stream(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str
) -> None:
    model.plays(*AT_ANSWER[fault])
    assert (require_end(client, turns) == 200) is (fault not in REFUSALS)


@pytest.mark.slow
@pytest.mark.parametrize("fault", AT_SEARCH)
def test_a_fault_at_the_search_ends_the_stream(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str
) -> None:
    model.plays(*AT_SEARCH[fault])
    assert (require_end(client, turns) == 200) is (fault not in REFUSALS)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["search", "answer"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_ends_the_stream(
    client: Client, model: ScriptedModel, turns: TurnChecks, fault: str, place: str
) -> None:
    replies: list[Any] = AT_SEARCH[fault][:1] if place == "search" else AT_ANSWER[fault][:2]
    model.plays(*replies)
    assert require_end(client, turns) != 200
