"""Questions that search the web for the same at once, asked of two functions with the same tables."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer

from gleaner.application import build_api
from gleaner.knowledge import shared_web_search
from gleaner.knowledge.shared_web_search import SharingLimits
from gleaner.runtime.settings import Settings
from tests.conftest import Client
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.keyword_fixtures import heads_of

QUERY = "When was Starlette 1.0 released, says ann@example.com?"
PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
SECRET_WORDS = ("ann", "starlette", "example")

Items = Callable[[str], list[dict[str, Any]]]


class SlowWeb:
    """Holds back the answer of the web until it is asked to give it, and counts."""

    def __init__(self, web: ScriptedWeb) -> None:
        self._web = web
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
        web.before_reply = self._hold

    def _hold(self) -> None:
        self.asked.release()
        self.may_answer.wait(20)

    @property
    def count(self) -> int:
        return len(self._web.requests)


@pytest.fixture
def slow_web(web: ScriptedWeb) -> Iterator[SlowWeb]:
    slow = SlowWeb(web)
    yield slow
    slow.may_answer.set()
    web.before_reply = None


def turn(request: dict[str, Any]) -> dict[str, Any]:
    """The model's turn after as many results of tools; it needs no script, so questions may run in any order."""
    done = sum(message["role"] == "tool" for message in request["messages"])
    last = (index("Starlette release", "ASGI framework"), answer("In 2026. [web-1]", ("web-1",)))
    learns = any(tool["function"]["name"] == "index_keywords" for tool in request["tools"])
    return [calls(search(QUERY)), calls(web_search(QUERY)), calls(*(last if learns else last[1:]))][min(done, 2)]


class Function:
    """A function with metrics of its own."""

    def __init__(self, settings: dict[str, str], name: str) -> None:
        self._metrics = Metrics(namespace=name, service=name)
        tracer = Tracer(service="gleaner", disabled=True)
        self.client = Client(
            build_api(Settings.from_env(settings), logger=Logger(service="q"), tracer=tracer, metrics=self._metrics)
        )

    def ask(self, caller: str, **body: Any) -> Any:
        status, answered = self.client.post("/api/chat/query", {"query": QUERY} | body, caller=caller)
        assert status == 200, answered
        return answered


def ask_both(settings: dict[str, str], model: ScriptedModel, web: SlowWeb, *callers: str, **body: Any) -> list[Any]:
    """The answers of two functions to the same question at once; the second is asked when the first has searched."""
    model.plays(turn)
    patient = partial(SharingLimits, store=20.0)  # a busy machine needs longer for a request of the lease
    with patch.object(shared_web_search, "SharingLimits", patient), ThreadPoolExecutor(2) as threads:
        functions = [Function(settings, f"f{number}") for number in range(2)]
        first = threads.submit(functions[0].ask, callers[0], **body)
        assert web.asked.acquire(timeout=20)
        second = threads.submit(functions[1].ask, callers[1], **body)
        ends_at = time.monotonic() + 20
        while len(model.requests) < 4 and time.monotonic() < ends_at:  # until it is about to search, too
            time.sleep(0.01)
        web.may_answer.set()
        return [first.result(), second.result()]


@pytest.fixture
def metrics() -> Iterator[dict[str, Any]]:
    """What was counted, by name. Metrics of one process are one, whatever their namespace."""
    shared = Metrics(namespace="Gleaner", service="query")
    shared.clear_metrics()
    yield shared.metric_set
    shared.clear_metrics()


def test_both_answers_rest_on_one_search_that_counts_once(
    settings: dict[str, str], model: ScriptedModel, slow_web: SlowWeb, items: Items, metrics: dict[str, Any]
) -> None:
    own, other = ask_both(settings, model, slow_web, "ann", "bob")
    assert slow_web.count == 1
    assert metrics["WebSearchesShared"]["Value"] == [1]
    assert "SearchLeaseFaults" not in metrics
    assert [one["cost"]["web_searches"] for one in (own, other)] == [1, 0]
    assert [[source["source_url"] for source in one["sources"]] for one in (own, other)] == [[PAGE["url"]]] * 2
    assert [one["status"] for one in (own, other)] == ["success"] * 2
    assert [one["keyword_count"] for one in (own, other)] == [2, 2]
    keywords = heads_of(items("KEYWORDS_TABLE"))
    assert sorted((item["keyword_text"], item["usage_count"]) for item in keywords) == [
        ("ASGI framework", 2),
        ("Starlette release", 2),
    ]


@pytest.mark.slow
def test_later_questions_are_handed_one_of_the_two_stored_answers(
    settings: dict[str, str], model: ScriptedModel, slow_web: SlowWeb
) -> None:
    ask_both(settings, model, slow_web, "ann", "bob")
    model.plays(calls(search("When was Starlette 1.0 released?")), calls(answer("In 2026. [web-1]", ("web-1",))))
    later = Function(settings, "later").ask("eve", query="When was Starlette 1.0 released?")
    assert [source["source_type"] for source in later["sources"]] == ["external"]
    assert str(model.requests[1]).count("was released in 2026") == 1
    assert "superseded" in str(model.requests[1])


def test_the_item_of_a_search_holds_no_words_of_a_caller(
    settings: dict[str, str], model: ScriptedModel, slow_web: SlowWeb, items: Items
) -> None:
    ask_both(settings, model, slow_web, "ann", "bob")
    [item] = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "SEARCH"]
    assert re.fullmatch("L#[0-9a-f]{32}", item["pk"])
    assert set(item) == {"pk", "sk", "holder", "ends_at", "shared_at", "expires_at", "result"}
    assert not any(word in str(item | {"result": ""}).lower() for word in SECRET_WORDS)
    assert item["ends_at"] < time.time() + 12


def test_a_question_is_answered_without_a_lease_when_the_table_fails(
    settings: dict[str, str], model: ScriptedModel, slow_web: SlowWeb, metrics: dict[str, Any]
) -> None:
    slow_web.may_answer.set()
    model.plays(turn)
    store = FaultyStore(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store.start()
    try:
        only_lease = {settings["KEYWORDS_TABLE"]}
        store.fails("error", lambda call, _: call.operation == "PutItem" and call.tables == only_lease)
        answered = Function(settings | {"AWS_ENDPOINT_URL_DYNAMODB": store.url}, "f").ask("ann")
    finally:
        store.stop()
    assert (answered["status"], answered["cost"]["web_searches"]) == ("success", 1)
    assert metrics["SearchLeaseFaults"]["Value"] == [1]


@pytest.mark.parametrize(
    ("setting", "callers", "body", "searches"),
    [
        ({"LEARNING": "caller"}, ("ann", "bob"), {}, 2),
        ({"LEARNING": "caller"}, ("ann", "ann"), {}, 1),
        ({"LEARNING": "off"}, ("ann", "ann"), {}, 2),
        ({}, ("ann", "ann"), {"fresh": True}, 2),
    ],
    ids=["callers apart", "one caller", "off", "fresh"],
)
def test_a_search_is_shared_by_those_who_find_what_it_teaches(
    settings: dict[str, str],
    model: ScriptedModel,
    slow_web: SlowWeb,
    items: Items,
    setting: dict[str, str],
    callers: tuple[str, str],
    body: dict[str, Any],
    searches: int,
) -> None:
    answers = ask_both(settings | setting, model, slow_web, *callers, **body)
    assert slow_web.count == searches
    assert sum(one["cost"]["web_searches"] for one in answers) == searches
    is_leased = not body and setting.get("LEARNING") != "off"
    assert any(item["sk"] == "SEARCH" for item in items("KEYWORDS_TABLE")) is is_leased


@pytest.mark.slow
def test_erasing_a_caller_leaves_what_the_other_learned_from_the_same_search(
    settings: dict[str, str], model: ScriptedModel, slow_web: SlowWeb, items: Items
) -> None:
    ask_both(settings, model, slow_web, "ann", "bob")
    admin = Function(settings, "admin").client
    status, _ = admin.request("DELETE", "/api/callers/key:ann", caller="admin")
    assert status == 200
    answers = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
    assert sorted("forgotten_at" in item for item in answers) == [False, True]
    keywords = heads_of(items("KEYWORDS_TABLE"))
    assert len(keywords) == 2
