"""Quotas of a day: what counts, what waits for it, and what many questions at once may use."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner.answering import _reservation
from gleaner.answering.events import Answered, Started
from gleaner.answering.exchange import Asker, QuestionRequest
from gleaner.answering.plain import complete_plainly
from gleaner.answering.question import Services, answer_question
from gleaner.errors import (
    DeadlineExceeded,
    GleanerError,
    MandatoryToolMissing,
    ModelUnavailable,
    QuotaExceeded,
    StoreUnavailable,
    UnknownKnowledgeBase,
    UnknownSession,
)
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.wiring import Stores, build_services, build_stores
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search
from tests.doubles.still_clock import StillClock

PRICES = {
    "OPENAI_PRICES": '{"input": 1.0, "cached_input": 1.0, "output": 2.0}',
    "WEB_SEARCH_PRICE": "0.01",
}
COST = 0.00024  # of an answer of the scripted model, at these prices
WRITERS = 32
Built = tuple[Services, Stores]


def build(settings: dict[str, str], **more: str) -> Built:
    configuration = Settings.from_env(settings | PRICES | more)
    stores = build_stores(configuration)
    return build_services(configuration, stores), stores


def ask(services: Services, caller_id: str = "key:ann", emit: Any = None, *, seconds: float = 20, **more: Any) -> Any:
    request = QuestionRequest(query="How are duplicates merged?", caller_id=caller_id, **more)
    sink = {"emit": emit} if emit else {}
    return answer_question(request, new_id(), services, Deadline.after(seconds), **sink)


def use(items: Any, name: str | None = "key:ann") -> tuple[int, float]:
    """Questions and USD of a caller, or of the environment. Nothing may be left in flight."""
    found = [item for item in items("USAGE_TABLE") if item["caller_id"] == (name or "*")]
    assert all("in_flight" not in item for item in found)
    return sum(item["questions"] for item in found), pytest.approx(sum(item["usd"] for item in found), abs=1e-7)


def converse(request: dict[str, Any]) -> dict[str, Any]:
    """The turn that follows the last message, whoever else asks at the same time."""
    return calls(answer()) if request["messages"][-1]["role"] == "tool" else calls(search())


def test_an_answer_is_counted_at_what_it_cost(settings: dict[str, str], model: ScriptedModel, items: Any) -> None:
    services, _ = build(settings)
    model.plays(converse)
    given = ask(services)
    assert given.facts.cost.estimated_usd == pytest.approx(COST)
    ask(services, "key:bob", is_kept=False)
    assert use(items) == (1, COST)
    assert use(items, None) == (2, 2 * COST)


@pytest.mark.parametrize("limited", ["QUESTIONS_PER_DAY", "ENVIRONMENT_QUESTIONS_PER_DAY"])
def test_of_many_questions_at_once_as_many_are_answered_as_the_limit_says(
    settings: dict[str, str], model: ScriptedModel, items: Any, limited: str
) -> None:
    services, _ = build(settings, **{limited: "10"})
    model.plays(converse)

    def try_to_ask(_: int) -> str:
        try:
            return str(ask(services, is_kept=False).text)
        except QuotaExceeded:
            return "refused"

    with ThreadPoolExecutor(WRITERS) as askers:
        told = list(askers.map(try_to_ask, range(WRITERS)))
    assert told.count("Merged. [kb-1]") == 10
    assert told.count("refused") == WRITERS - 10
    assert use(items)[0] == use(items, None)[0] == 10


def test_a_refused_question_does_nothing_but_call_the_model_once_and_later_ones_not_even_that(
    settings: dict[str, str], model: ScriptedModel, items: Any
) -> None:
    services, _ = build(settings, QUESTIONS_PER_DAY="1")
    model.plays(converse)
    ask(services)
    tool_calls = items("TOOL_CALLS_TABLE")
    calls_made = []
    for _ in range(3):
        model.plays(converse)
        with pytest.raises(QuotaExceeded, match="Your questions of today are used up: the limit is 1") as refusal:
            ask(services)
        assert 0 < refusal.value.retry_after <= 24 * 3600
        calls_made.append(len(model.requests))
    assert calls_made == [1, 0, 0]
    assert items("TOOL_CALLS_TABLE") == tool_calls
    assert use(items) == (1, COST + COST / 2)  # the call in vain was paid for
    assert use(items, None) == (1, COST + COST / 2)
    assert ask(services, "key:bob").text == "Merged. [kb-1]"


def test_the_limit_of_money_refuses_once_the_sum_has_reached_it(
    settings: dict[str, str], model: ScriptedModel, items: Any
) -> None:
    services, _ = build(settings, USD_PER_DAY=f"{1.5 * COST:.6f}")
    model.plays(converse)
    ask(services)
    ask(services)
    with pytest.raises(QuotaExceeded, match=r"the limit is 0\.00036 USD"):
        ask(services)
    assert use(items)[0] == 2


def test_the_model_is_asked_beside_the_reservation_and_nothing_comes_of_its_turn_before(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    services, stores = build(settings, QUESTIONS_PER_DAY="9", ENVIRONMENT_USD_PER_DAY="9")
    model_was_asked, order = threading.Event(), []

    def hold_back(params: Any, **_: Any) -> None:
        if settings["USAGE_TABLE"] in str(params["body"]):
            order.append("reserved" if model_was_asked.wait(timeout=60) else "the model waits")

    def first_turn(_: Any) -> dict[str, Any]:
        order.append("asked")
        model_was_asked.set()
        return calls(search())

    def second_turn(_: Any) -> dict[str, Any]:
        order.append("asked again")
        return calls(answer())

    model.plays(converse)
    ask(services, is_kept=False)  # the accounts of the day exist from now on
    stores.client.meta.events.register("before-call.dynamodb.BatchExecuteStatement", hold_back)
    model.plays(first_turn, second_turn)
    events: list[Any] = []
    assert ask(services, emit=events.append, is_kept=False).text == "Merged. [kb-1]"
    assert order[:3] == ["asked", "reserved", "asked again"]
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Answered)


def test_what_a_question_cost_is_written_beside_its_turn(settings: dict[str, str], model: ScriptedModel) -> None:
    services, stores = build(settings, QUESTIONS_PER_DAY="9")
    model.plays(converse)
    turn_is_written, held = threading.Event(), []

    def hold_back(params: Any, **_: Any) -> None:
        if settings["USAGE_TABLE"] in str(params["body"]) and "REMOVE" in str(params["body"]):
            held.append(turn_is_written.wait(timeout=60))

    stores.client.meta.events.register("before-call.dynamodb.BatchExecuteStatement", hold_back)
    stores.client.meta.events.register("after-call.dynamodb.TransactWriteItems", lambda **_: turn_is_written.set())
    ask(services)
    assert held == [True]


def test_a_refused_question_has_no_events(settings: dict[str, str], model: ScriptedModel) -> None:
    services, _ = build(settings, ENVIRONMENT_QUESTIONS_PER_DAY="1")
    model.plays(converse)
    ask(services)
    for _ in range(2):
        events: list[Any] = []
        with pytest.raises(QuotaExceeded, match="this service"):
            ask(services, "key:bob", emit=events.append)
        assert events == []


@pytest.mark.parametrize(
    ("more", "error"),
    [({"session_id": new_id()}, UnknownSession), ({"kb_id": "nowhere"}, UnknownKnowledgeBase), ({}, ModelUnavailable)],
)
def test_a_question_that_no_model_answered_is_given_back(
    settings: dict[str, str], model: ScriptedModel, items: Any, more: dict[str, Any], error: type[GleanerError]
) -> None:
    services, _ = build(settings, QUESTIONS_PER_DAY="1", USD_PER_DAY="0.001")
    model.plays(JSONResponse({"error": {"message": "no"}}, status_code=401))
    for _ in range(3):
        with pytest.raises(error):
            ask(services, **more)
    assert use(items) == use(items, None) == (0, 0.0)
    model.plays(converse)
    assert ask(services).text == "Merged. [kb-1]"


def test_a_question_that_failed_after_the_model_answered_counts(
    settings: dict[str, str], model: ScriptedModel, items: Any
) -> None:
    services, _ = build(settings)
    model.plays(calls(search()), says("No tool."))
    with pytest.raises(MandatoryToolMissing):
        ask(services)
    assert use(items) == (1, 1.5 * COST)


def test_a_caller_who_is_refused_takes_nothing_from_the_environment(
    settings: dict[str, str], model: ScriptedModel, items: Any
) -> None:
    services, _ = build(settings, QUESTIONS_PER_DAY="1", ENVIRONMENT_QUESTIONS_PER_DAY="2")
    model.plays(converse)
    ask(services)
    for _ in range(3):
        with pytest.raises(QuotaExceeded):
            ask(services)
    assert ask(services, "key:bob").text == "Merged. [kb-1]"
    assert use(items, None)[0] == 2


def test_admins_are_exempt_by_choice_and_counted(settings: dict[str, str], model: ScriptedModel, items: Any) -> None:
    limits = {"QUESTIONS_PER_DAY": "1", "ENVIRONMENT_QUESTIONS_PER_DAY": "1"}
    services, _ = build(settings, QUOTA_ADMINS_EXEMPT="on", **limits)
    model.plays(converse)
    for _ in range(2):
        ask(services, is_admin=True)
    assert use(items)[0] == use(items, None)[0] == 2
    with pytest.raises(QuotaExceeded):
        ask(services)
    services, _ = build(settings, **limits)
    with pytest.raises(QuotaExceeded):
        ask(services, is_admin=True)


def test_a_plain_text_counts_as_a_question(settings: dict[str, str], model: ScriptedModel, items: Any) -> None:
    services, _ = build(settings, QUESTIONS_PER_DAY="1")
    asker = Asker(caller_id="key:ann", query_id=new_id())
    model.plays(says("A title"))
    assert complete_plainly([("user", "A title?")], asker, services, Deadline.after(20)).text == "A title"
    assert use(items) == (1, COST / 2)
    for number in range(2):
        model.plays(says("A title"))
        with pytest.raises(QuotaExceeded):
            asker = Asker(caller_id="key:ann", query_id=new_id())
            complete_plainly([("user", "A title?")], asker, services, Deadline.after(20))
        assert len(model.requests) == (1 if number == 0 else 0)
    assert use(items) == (1, COST)


@pytest.mark.slow
def test_without_the_store_nothing_is_asked_beyond_the_first_call_where_there_is_a_limit(
    settings: dict[str, str], model: ScriptedModel, items: Any, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reservation, "_MAX_RESERVE_SECONDS", 1.0)
    services, stores = build(settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}, QUESTIONS_PER_DAY="9")
    faulty.fails("error", lambda call, _: settings["USAGE_TABLE"] in call.tables)
    model_was_asked = threading.Event()

    def hold_back(params: Any, **_: Any) -> None:
        if settings["USAGE_TABLE"] in str(params["body"]):
            model_was_asked.wait(60)  # a busy machine may be late to ask it

    def first_turn(request: Any) -> Any:
        model_was_asked.set()
        return converse(request)

    stores.client.meta.events.register("before-call.dynamodb.BatchExecuteStatement", hold_back)
    calls_made = []
    for _ in range(2):
        model.plays(first_turn)
        with pytest.raises(StoreUnavailable):
            ask(services)
        calls_made.append(len(model.requests))
    assert calls_made == [1, 0]
    faulty.heals()
    assert ask(services).text == "Merged. [kb-1]"
    assert use(items)[0] == 1


def test_a_reservation_that_takes_too_long_is_a_fault_of_the_store(
    settings: dict[str, str], model: ScriptedModel, still_clock: StillClock
) -> None:
    services, stores = build(settings, QUESTIONS_PER_DAY="9")
    # No account exists yet, so a write for each follows the request, which comes too late for it.
    stores.client.meta.events.register("before-call.dynamodb.BatchExecuteStatement", lambda **_: still_clock.move(4))
    model.plays(converse)
    with pytest.raises(StoreUnavailable):  # the question has time left
        ask(services)


def test_a_store_that_hangs_holds_no_question_beyond_its_deadline(
    settings: dict[str, str], model: ScriptedModel, faulty: FaultyStore
) -> None:
    faulty.fails("hangs", lambda call, _: settings["USAGE_TABLE"] in call.tables)
    for _ in range(5):
        services, _ = build(settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}, QUESTIONS_PER_DAY="9")
        model.plays(converse)
        with pytest.raises(DeadlineExceeded):  # the store fails only after its own time for a response
            ask(services, seconds=1, is_kept=False)
        if model.requests:  # a machine that stalls may use up the second before
            break
    assert len(model.requests) == 1


@pytest.mark.slow
def test_without_a_limit_a_store_that_cannot_count_fails_no_answer(
    settings: dict[str, str],
    model: ScriptedModel,
    items: Any,
    faulty: FaultyStore,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_reservation, "_MAX_RESERVE_SECONDS", 1.0)
    services, _ = build(settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url})
    faulty.fails("error", lambda call, _: settings["USAGE_TABLE"] in call.tables)
    model.plays(converse)
    with caplog.at_level(logging.ERROR):
        assert ask(services).text == "Merged. [kb-1]"
    written = [getattr(record, "write", "") for record in caplog.records]
    assert "usage of 0.00024 USD" in written
    assert use(items) == (0, 0.0)


def test_money_is_counted_even_if_only_the_reservation_failed(
    settings: dict[str, str], model: ScriptedModel, items: Any, faulty: FaultyStore
) -> None:
    services, _ = build(settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url})
    faulty.fails("error", lambda call, _: settings["USAGE_TABLE"] in call.tables)

    def first_turn(_: Any) -> dict[str, Any]:
        faulty.heals()
        return calls(search())

    model.plays(first_turn, calls(answer()))
    ask(services)
    assert use(items) == use(items, None) == (1, COST)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 5))
def test_a_lost_response_to_any_write_changes_no_figure(
    settings: dict[str, str], model: ScriptedModel, items: Any, faulty: FaultyStore, number: int
) -> None:
    services, _ = build(settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}, QUESTIONS_PER_DAY="1")
    seen = []

    def choose(call: Any, _: int) -> bool:
        if settings["USAGE_TABLE"] in call.tables:
            seen.append(call)
        return settings["USAGE_TABLE"] in call.tables and len(seen) == number

    faulty.fails("lost", choose)
    model.plays(converse)
    ask(services)
    assert faulty.fault_count == 1
    assert use(items) == use(items, None) == (1, COST)
