"""Equal web searches at the same time, in one process and in several, on ministack."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from gleaner.clients.perplexity import UnusableAnswer, WebSearchResult
from gleaner.errors import WebSearchUnavailable
from gleaner.knowledge.shared_web_search import pack, unpack
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import connect
from gleaner.stores.search_leases import SearchLeases
from gleaner_local.aws import ministack
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.stalling import stalling
from tests.keyword_fixtures import Keywords
from tests.knowledge.searches import QUICK, Function, Web, found, function

PRICE = 0.0061


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def functions(keywords: Keywords, dynamodb_url: str, web: Web, executor: ThreadPoolExecutor) -> list[Function]:
    """Three functions on one table."""
    name = keywords.table_name
    return [function(ministack.admin_client(dynamodb_url), name, web, executor) for _ in range(3)]


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the client that the service makes."""
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Questions that run at the same time."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def first(threads: ThreadPoolExecutor, web: Web, asking: Function, **how: Any) -> Future[WebSearchResult]:
    """Ask, and return when the web has been asked."""
    future = threads.submit(asking.ask, **how)
    assert web.asked.acquire(timeout=20)
    return future


def join(threads: ThreadPoolExecutor, asking: Function, **how: Any) -> Future[WebSearchResult]:
    """Ask now, even if the thread begins only when the search of another has ended."""
    return threads.submit(asking.ask, asked_at=utc_now(), **how)


def wait_until_read(keywords: Keywords) -> None:
    """Give others the time to see the lease. What they get does not depend on whether they do."""
    assert keywords.items("SEARCH")
    time.sleep(0.1)


def test_functions_that_ask_at_once_share_one_search(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor, keywords: Keywords
) -> None:
    own = first(threads, web, functions[0])
    others = [join(threads, one) for one in functions for _ in range(2)]
    wait_until_read(keywords)
    web.may_answer.set()
    results = [future.result() for future in (own, *others)]
    assert len(web.requests) == 1
    assert {(one.answer, one.citations) for one in results} == {(own.result().answer, own.result().citations)}
    assert [(one.cost_usd, one.is_shared) for one in results] == [(PRICE, False), *[(0.0, True)] * 6]
    assert not any(function.faults for function in functions)


def test_what_is_asked_after_a_search_has_ended_is_searched_again(functions: list[Function], web: Web) -> None:
    web.may_answer.set()
    asked_at = utc_now()
    assert not functions[0].ask().is_shared
    assert not functions[1].ask().is_shared
    assert functions[2].ask(asked_at=asked_at).is_shared  # it was asked at the same time, and came to search later
    assert len(web.requests) == 2


@pytest.mark.parametrize("scopes", [("kb", "kb2", "kb@ann"), (None, None, "kb")])
def test_searches_of_other_scopes_are_not_shared(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor, keywords: Keywords, scopes: tuple[str | None, ...]
) -> None:
    asked = [first(threads, web, functions[0], scope=scope) for scope in scopes]
    web.may_answer.set()
    assert not any(future.result().is_shared for future in asked)
    assert len(keywords.items("SEARCH")) == len({*scopes} - {None})


def test_when_the_holder_fails_another_takes_over_at_once(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor, keywords: Keywords
) -> None:
    web.replies = [lambda: httpx.Response(400)] * 2  # with and without tool_choice
    own = first(threads, web, functions[0])
    # They wait for 10 seconds, and the lease lasts for 12: one that is not released in time is waited for in vain.
    others = [join(threads, one, seconds=12) for one in functions[1:]]
    wait_until_read(keywords)
    web.may_answer.set()
    with pytest.raises(WebSearchUnavailable):
        own.result()
    assert sorted(future.result().is_shared for future in others) == [False, True]
    assert len(web.requests) == 3


def test_when_the_holder_dies_another_takes_over_after_the_lease(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor, keywords: Keywords
) -> None:
    dead = SearchLeases(keywords.table)
    search_id = functions[0].web._web.identify("q", None, scope="kb")
    dead.take(search_id, "dead", seconds=0.5, asked_at=utc_now(), deadline=Deadline.after(20))
    web.may_answer.set()
    results = [future.result() for future in [join(threads, one) for one in functions]]
    assert sorted(one.is_shared for one in results) == [False, True, True]
    assert len(web.requests) == 1
    dead.share(search_id, "dead", b"late", seconds=9, deadline=Deadline.after(20))
    [item] = keywords.items("SEARCH")
    assert item["result"]["answer"] == "Yes [1]."


def test_a_question_waits_no_longer_than_it_can_still_search_itself(
    functions: list[Function],
    web: Web,
    threads: ThreadPoolExecutor,
    executor: ThreadPoolExecutor,
    keywords: Keywords,
    dynamodb_url: str,
) -> None:
    own = first(threads, web, functions[0])
    limits = replace(QUICK, own_search=19.7)
    hurried = function(ministack.admin_client(dynamodb_url), keywords.table_name, web, executor, limits=limits)
    late = first(threads, web, hurried, seconds=20)
    web.may_answer.set()
    assert [one.result().is_shared for one in (own, late)] == [False, False]
    assert keywords.items("SEARCH")[0]["result"]["cost_usd"] == PRICE


def test_a_result_that_is_too_large_is_searched_by_everybody(
    web: Web, threads: ThreadPoolExecutor, executor: ThreadPoolExecutor, keywords: Keywords, dynamodb_url: str
) -> None:
    clients = [ministack.admin_client(dynamodb_url) for _ in range(3)]
    functions = [function(client, keywords.table_name, web, executor, max_result_bytes=100) for client in clients]
    own = first(threads, web, functions[0])
    others = [threads.submit(one.ask) for one in functions[1:]]
    wait_until_read(keywords)
    web.may_answer.set()
    assert [future.result().is_shared for future in (own, *others)] == [False] * 3
    assert len(web.requests) == 3


def test_what_was_paid_for_and_cannot_be_used_counts_once(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.reply = lambda: httpx.Response(200, json=found(output=[]))
    own = first(threads, web, functions[0])
    is_about_to_wait = threading.Event()
    identify = functions[0].web._web.identify

    def note(*arguments: Any, **options: Any) -> str:
        is_about_to_wait.set()
        return identify(*arguments, **options)

    monkeypatch.setattr(functions[0].web._web, "identify", note)
    other = threads.submit(functions[0].ask)
    assert is_about_to_wait.wait(20)
    time.sleep(0.1)
    web.may_answer.set()
    errors = [future.exception() for future in (own, other)]
    assert [(type(error), error.is_shared) for error in errors if isinstance(error, UnusableAnswer)] == [
        (UnusableAnswer, False),
        (UnusableAnswer, True),
    ]
    assert len(web.requests) == 1


def test_a_question_with_less_time_does_not_wait_for_the_one_that_searches(
    functions: list[Function], web: Web, threads: ThreadPoolExecutor
) -> None:
    own = first(threads, web, functions[0])
    with pytest.raises(WebSearchUnavailable):
        functions[0].ask(seconds=0.2)
    web.may_answer.set()
    assert own.result().answer == "Yes [1]."


@pytest.mark.usefixtures("credentials")
def test_a_store_that_does_not_answer_leaves_the_search_alone(
    web: Web, threads: ThreadPoolExecutor, executor: ThreadPoolExecutor, dynamodb_url: str
) -> None:
    web.may_answer.set()
    with stalling(drips=False) as hanging:
        clients = [connect(endpoint_url=url) for url in (hanging, "http://127.0.0.1:9", dynamodb_url)]
        limits = replace(QUICK, store=0.5)
        broken = [function(client, "no-such-table", web, executor, limits=limits) for client in clients]
        answers = list(threads.map(lambda one: one.ask().answer, broken))
    assert answers == ["Yes [1]."] * 3
    assert all(one.faults["lease"] for one in broken)


@pytest.mark.slow
@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("operation", ["PutItem", "GetItem", "UpdateItem"])
@pytest.mark.parametrize("how", ["error", "lost"])
def test_a_fault_of_one_request_fails_no_search(
    keywords: Keywords,
    dynamodb_url: str,
    web: Web,
    threads: ThreadPoolExecutor,
    executor: ThreadPoolExecutor,
    operation: str,
    how: Any,
) -> None:
    store = FaultyStore(dynamodb_url)
    store.start()
    try:
        store.fails(how, lambda call, _: call.operation == operation)
        limits = replace(QUICK, store=0.5, own_search=18.0)
        functions = [
            function(connect(endpoint_url=store.url), keywords.table_name, web, executor, limits=limits)
            for _ in range(2)
        ]
        own = first(threads, web, functions[0])
        other = threads.submit(functions[1].ask, seconds=20)
        time.sleep(0.1)
        web.may_answer.set()
        assert {future.result().answer for future in (own, other)} == {"Yes [1]."}
    finally:
        store.stop()


def test_a_packed_result_is_the_result(functions: list[Function], web: Web) -> None:
    web.reply = lambda: httpx.Response(200, json=found("Ja \U0001f600 [1]. " + "x" * 5000))
    web.may_answer.set()
    result = functions[0].ask()
    assert unpack(pack(result)) == result
    assert len(pack(result)) < 1000
