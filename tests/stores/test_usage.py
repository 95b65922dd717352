"""Accounts of a day: limits that many writers keep, writes that may be repeated, and what is left of a caller."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gleaner.errors import StoreUnavailable
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.quota import NO_LIMITS, Limits
from gleaner.stores import dynamodb
from gleaner.stores.dynamodb import Table
from gleaner.stores.usage import KEPT_DAYS, Account, CallerUsage, DayUsage, Limit, UsageStore
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.still_clock import StillClock

TODAY = date(2126, 11, 29)  # nothing of it expires while the tests run
ANN, EVERYBODY = Account(TODAY, "key:ann"), Account(TODAY)
WRITERS = 32


@pytest.fixture
def store(settings: dict[str, str]) -> UsageStore:
    return _store(settings, settings["AWS_ENDPOINT_URL_DYNAMODB"])


def _store(settings: dict[str, str], url: str) -> UsageStore:
    return UsageStore(Table(dynamodb.connect(endpoint_url=url), settings["USAGE_TABLE"]))


def soon() -> Deadline:
    return Deadline.after(20)


def reserve(
    store: UsageStore, account: Account = ANN, limits: Limits = NO_LIMITS, usd: float = 0.01, query: str = ""
) -> Limit | None:
    return store.reserve(account, query or new_id(), usd, limits, deadline=soon())


def at_once(act: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(WRITERS) as writers:
        return list(writers.map(act, range(WRITERS)))


@pytest.mark.parametrize("account", [ANN, EVERYBODY], ids=["caller", "environment"])
def test_of_many_writers_as_many_get_through_as_the_limit_says(store: UsageStore, account: Account) -> None:
    limits = Limits(questions=10)
    refusals = at_once(lambda _: reserve(store, account, limits))
    assert sorted(map(str, refusals)) == ["None"] * 10 + ["questions"] * (WRITERS - 10)
    assert store.read(account, deadline=soon()) == DayUsage(questions=10, usd=0.1)


def test_of_many_writers_none_gets_through_once_the_sum_has_reached_the_limit(store: UsageStore) -> None:
    refusals = at_once(lambda _: reserve(store, limits=Limits(usd=0.05)))
    assert refusals.count(None) == 5
    assert refusals.count(Limit.USD) == WRITERS - 5


def test_many_questions_at_once_are_settled_at_what_they_cost(store: UsageStore) -> None:
    def ask(number: int) -> None:
        query = new_id()
        assert reserve(store, query=query) is None
        assert store.settle(ANN, query, questions=0, usd=number / 1000 - 0.01, deadline=soon())

    at_once(ask)
    assert store.read(ANN, deadline=soon()) == DayUsage(questions=WRITERS, usd=0.496)


def test_a_question_that_is_given_back_makes_room_for_another(store: UsageStore) -> None:
    limits = Limits(questions=1, usd=0.01)
    assert reserve(store, limits=limits, query="first") is None
    assert reserve(store, limits=limits) is Limit.QUESTIONS
    assert store.settle(ANN, "first", questions=-1, usd=-0.01, deadline=soon())
    assert store.read(ANN, deadline=soon()) == DayUsage()
    assert reserve(store, limits=limits) is None


def test_a_limit_that_is_raised_lets_questions_through_again(store: UsageStore) -> None:
    assert reserve(store, limits=Limits(usd=0.01)) is None
    assert reserve(store, limits=Limits(usd=0.01)) is Limit.USD
    assert reserve(store, limits=Limits(usd=0.02)) is None


@example_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example has its own caller
@given(costs=st.lists(st.floats(0, 5, allow_nan=False), min_size=1, max_size=4), limit=st.floats(0.001, 5))
def test_a_sum_never_exceeds_its_limit_by_more_than_the_question_that_reached_it(
    store: UsageStore, costs: list[float], limit: float
) -> None:
    account, through = Account(TODAY, f"key:{new_id()}"), []
    for cost in costs:
        query = new_id()
        if reserve(store, account, Limits(usd=limit), query=query) is not None:
            break
        assert store.settle(account, query, questions=0, usd=cost - 0.01, deadline=soon())
        through.append(cost)
    assert len(through) == len(costs) or sum(through) >= limit - 1e-6
    assert sum(through[:-1]) < limit + 1e-6
    usage = store.read(account, deadline=soon())
    assert usage.questions == len(through)
    assert usage.usd == pytest.approx(sum(through), abs=1e-6)


def test_a_write_whose_response_is_lost_has_effect_once(settings: dict[str, str], faulty: FaultyStore) -> None:
    store = _store(settings, faulty.url)
    limits = Limits(questions=1)
    faulty.fails("lost", lambda _, number: number == 1)
    assert reserve(store, limits=limits, query="q") is None
    assert faulty.fault_count == 1
    assert store.read(ANN, deadline=soon()) == DayUsage(questions=1, usd=0.01)
    faulty.fails("lost", lambda _, number: number == 1)
    assert not store.settle(ANN, "q", questions=0, usd=-0.004, deadline=soon())  # the first attempt did it
    assert faulty.fault_count == 1
    assert store.read(ANN, deadline=soon()) == DayUsage(questions=1, usd=0.006)


def test_nothing_is_written_for_a_caller_who_was_erased_meanwhile(store: UsageStore, items: Any) -> None:
    reserve(store, query="q")
    store.erase("key:ann", TODAY, deadline=soon())
    assert not store.settle(ANN, "q", questions=0, usd=0.5, deadline=soon())
    assert items("USAGE_TABLE") == []


def test_all_days_of_a_caller_are_erased_and_nobody_elses(store: UsageStore) -> None:
    days = [TODAY + timedelta(days=1), *(TODAY - timedelta(days=age) for age in range(KEPT_DAYS + 2))]
    for day in days:
        reserve(store, Account(day, "key:ann"))
    reserve(store, Account(TODAY, "key:bob"))
    reserve(store, EVERYBODY)
    store.erase("key:ann", TODAY, deadline=soon())
    for day in days:
        assert store.read(Account(day, "key:ann"), deadline=soon()) == DayUsage()
    assert store.read(Account(TODAY, "key:bob"), deadline=soon()).questions == 1
    assert store.read(EVERYBODY, deadline=soon()).questions == 1


def test_accounts_expire_and_their_writers_agree_on_when(store: UsageStore, items: Any) -> None:
    reserve(store, query="q")
    store.settle(ANN, "q", questions=0, usd=0.0, deadline=soon())
    store.add(EVERYBODY, questions=1, usd=0.5, deadline=soon())
    ends = datetime(2126, 11, 29, tzinfo=UTC) + timedelta(days=KEPT_DAYS)
    assert [item["expires_at"] for item in items("USAGE_TABLE")] == [ends.timestamp()] * 2
    assert all("in_flight" not in item for item in items("USAGE_TABLE"))


def test_callers_of_a_day_are_listed_page_by_page(store: UsageStore) -> None:
    names = [f"key:{number}" for number in range(5)] + ["iam:arn:aws:sts::1:assumed-role/a/b", "anonymous"]
    for name in names:
        reserve(store, Account(TODAY, name))
    reserve(store, Account(TODAY - timedelta(days=1), "key:yesterday"))
    reserve(store, EVERYBODY)
    pages: list[list[CallerUsage]] = [[]]
    while page := store.list_callers(
        TODAY, limit=3, after=pages[-1][-1].position if pages[-1] else "", deadline=soon()
    ):
        pages.append(page)
    listed = [one for page in pages for one in page]
    assert [len(page) for page in pages] == [0, 3, 3, 1]
    assert sorted(one.caller_id for one in listed) == sorted(names)
    assert {one.usage for one in listed} == {DayUsage(questions=1, usd=0.01)}


def reserve_in_all(store: UsageStore, limits: dict[Account, Limits], query: str = "") -> list[Any]:
    return list(store.reserve_in_all(limits, query or new_id(), 0.01, deadline=soon()).values())


@pytest.mark.parametrize("exist", [False, True], ids=["new", "known"])
def test_of_many_writers_to_two_accounts_each_lets_through_what_its_own_limit_says(
    store: UsageStore, exist: bool
) -> None:
    if exist:
        assert reserve_in_all(store, {ANN: NO_LIMITS, EVERYBODY: NO_LIMITS}, "earlier") == [None, None]
    limits = {ANN: Limits(questions=10 + exist), EVERYBODY: Limits(usd=0.21 if exist else 0.2)}
    refusals = at_once(lambda _: reserve_in_all(store, limits))
    own, common = zip(*refusals, strict=True)
    assert sorted(map(str, own)) == ["None"] * 10 + ["questions"] * (WRITERS - 10)
    assert sorted(map(str, common)) == ["None"] * 20 + ["usd"] * (WRITERS - 20)
    assert store.read(ANN, deadline=soon()).questions == 10 + exist
    assert store.read(EVERYBODY, deadline=soon()).questions == 20 + exist


def record_operations(client: Any) -> list[str]:
    operations: list[str] = []
    client.meta.events.register("before-call.dynamodb", lambda model, **_: operations.append(model.name))
    return operations


def test_known_accounts_are_written_in_one_request_and_new_ones_in_one_more_each(settings: dict[str, str]) -> None:
    client = dynamodb.connect(endpoint_url=settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store = UsageStore(Table(client, settings["USAGE_TABLE"]))
    operations = record_operations(client)
    for expected in (["BatchExecuteStatement", "UpdateItem", "UpdateItem"], ["BatchExecuteStatement"]):
        operations.clear()
        assert reserve_in_all(store, {ANN: Limits(questions=2), EVERYBODY: NO_LIMITS}) == [None, None]
        assert operations == expected
    operations.clear()
    assert reserve_in_all(store, {ANN: Limits(questions=2), EVERYBODY: NO_LIMITS}) == [Limit.QUESTIONS, None]
    assert operations == ["BatchExecuteStatement"]


@pytest.mark.parametrize("error", ["ThrottlingError", "InternalServerError", "ValidationError"])
def test_a_statement_whose_fate_is_not_known_is_followed_by_a_write_with_effect_once(
    settings: dict[str, str], error: str
) -> None:
    client = dynamodb.connect(endpoint_url=settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store = UsageStore(Table(client, settings["USAGE_TABLE"]))
    limits = {ANN: Limits(questions=3), EVERYBODY: NO_LIMITS}
    assert reserve_in_all(store, limits) == [None, None]

    def forget(parsed: Any, **_: Any) -> None:
        parsed["Responses"][0] = {"Error": {"Code": error}}

    client.meta.events.register("after-call.dynamodb.BatchExecuteStatement", forget)
    assert reserve_in_all(store, limits, "q") == [None, None]
    assert store.read(ANN, deadline=soon()) == store.read(EVERYBODY, deadline=soon())
    assert store.settle(ANN, "q", questions=0, usd=0.0, deadline=soon())


def test_a_client_that_may_send_no_statements_counts_by_single_writes(settings: dict[str, str]) -> None:
    client = dynamodb.connect(endpoint_url=settings["AWS_ENDPOINT_URL_DYNAMODB"])
    refusal = SimpleNamespace(status_code=400), {"Error": {"Code": "AccessDeniedException"}}
    client.meta.events.register("before-call.dynamodb.BatchExecuteStatement", lambda **_: refusal)
    store = UsageStore(Table(client, settings["USAGE_TABLE"]))
    for refusals in ([None, None], [Limit.QUESTIONS, None]):
        assert reserve_in_all(store, {ANN: Limits(questions=1), EVERYBODY: NO_LIMITS}) == refusals


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_lost_response_to_any_request_for_both_accounts_has_effect_once(
    settings: dict[str, str], faulty: FaultyStore, number: int
) -> None:
    store = _store(settings, faulty.url)
    limits = {ANN: Limits(questions=2), EVERYBODY: NO_LIMITS}
    faulty.fails("lost", lambda _, write: write == number)
    assert reserve_in_all(store, limits, "q") == [None, None]
    assert faulty.fault_count == 1
    faulty.fails("lost", lambda _, write: write == 1)
    assert reserve_in_all(store, limits, "r") == [None, None]
    assert faulty.fault_count == 1
    for account in limits:
        assert store.read(account, deadline=soon()) == DayUsage(questions=2, usd=0.02)


def test_settlements_are_statements_that_have_effect_once(store: UsageStore, items: Any) -> None:
    reserve_in_all(store, {ANN: NO_LIMITS, EVERYBODY: NO_LIMITS}, "q")
    settlements = [store.settlement(account, "q", questions=0, usd=-0.004) for account in (ANN, EVERYBODY)]
    assert [result.is_done for result in store.execute(settlements, deadline=soon())] == [True, True]
    again = store.execute(settlements, deadline=soon())
    assert [(result.is_done, result.is_refused) for result in again] == [(False, True)] * 2
    assert {(item["questions"], item["usd"]) for item in items("USAGE_TABLE")} == {(1, 0.006)}
    store.erase("key:ann", TODAY, deadline=soon())
    [result] = store.execute([store.settlement(ANN, "r", questions=0, usd=0.5)], deadline=soon())
    assert result.is_refused  # nothing comes back of a caller who was erased
    assert len(items("USAGE_TABLE")) == 1


def test_an_account_that_is_throttled_takes_no_time_from_one_with_a_limit(
    settings: dict[str, str], still_clock: StillClock
) -> None:
    client = dynamodb.connect(endpoint_url=settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store = UsageStore(Table(client, settings["USAGE_TABLE"]))
    throttled = SimpleNamespace(status_code=400), {"Error": {"Code": "ThrottlingException"}}

    def throttle(params: Any, **_: Any) -> Any:
        if "E#" in str(params["body"]):
            return None
        still_clock.move(0.1)  # the caller's account
        return throttled

    client.meta.events.register("before-call.dynamodb.UpdateItem", throttle)
    limits = {ANN: NO_LIMITS, EVERYBODY: Limits(questions=1)}
    refusals = store.reserve_in_all(limits, "q", 0.01, deadline=Deadline.after(0.5))
    assert refusals[EVERYBODY] is None
    assert isinstance(refusals[ANN], StoreUnavailable)
    assert store.read(EVERYBODY, deadline=soon()).questions == 1
