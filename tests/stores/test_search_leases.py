"""Leases on web searches, on ministack."""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.search_leases import MAX_RESULT_BYTES, OtherSearch, SearchLeases
from gleaner_local.aws import ministack
from tests.keyword_fixtures import Keywords

ID = "5ea1c4"
RUNS = OtherSearch(result=None, is_too_large=False)


def take(leases: SearchLeases, holder: str, *, seconds: float = 60.0, minutes_ago: float = 1.0) -> OtherSearch | None:
    asked_at = utc_now() - timedelta(minutes=minutes_ago)
    return leases.take(ID, holder, seconds=seconds, asked_at=asked_at, deadline=Deadline.after(20))


def look(leases: SearchLeases) -> OtherSearch | None:
    return leases.look(ID, asked_at=utc_now() - timedelta(minutes=1), deadline=Deadline.after(20))


def share(leases: SearchLeases, holder: str, result: bytes, *, seconds: float = 60.0) -> None:
    leases.share(ID, holder, result, seconds=seconds, deadline=Deadline.after(20))


def test_of_many_clients_one_takes_the_lease(keywords: Keywords, dynamodb_url: str) -> None:
    clients = [SearchLeases(Table(ministack.admin_client(dynamodb_url), keywords.table_name)) for _ in range(8)]
    with ThreadPoolExecutor(len(clients)) as threads:
        taken = list(threads.map(lambda n: take(clients[n], f"H{n}"), range(len(clients))))
    assert sorted(taken, key=bool) == [None, *[RUNS] * 7]


def test_the_result_takes_the_place_of_the_lease(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    assert take(leases, "H1") is None
    assert look(leases) == RUNS
    share(leases, "H1", b"found")
    assert look(leases) == take(leases, "H2") == OtherSearch(result=b"found", is_too_large=False)
    assert take(leases, "H3", minutes_ago=0) is None  # asked when the search had ended
    assert look(leases) == RUNS


def test_a_repeated_write_takes_and_shares_once(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    assert [take(leases, "H1"), take(leases, "H1")] == [None, None]
    for _ in range(2):
        share(leases, "H1", b"found")
    assert look(leases) == OtherSearch(result=b"found", is_too_large=False)


def test_a_lease_ends_by_its_own_time_and_its_holder_has_no_more_say(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    assert take(leases, "H1", seconds=0.05) is None
    time.sleep(0.06)
    assert look(leases) is None
    assert take(leases, "H2") is None
    share(leases, "H1", b"late")
    leases.release(ID, "H1", deadline=Deadline.after(20))
    assert look(leases) == RUNS
    leases.release(ID, "H2", deadline=Deadline.after(20))
    assert look(leases) is None
    assert keywords.items() == []


def test_a_result_that_has_expired_is_not_handed_out(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    take(leases, "H1")
    share(leases, "H1", b"found", seconds=0.0)
    assert look(leases) is None
    assert take(leases, "H2") is None


def test_a_result_that_is_too_large_is_only_marked(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    take(leases, "H1")
    largest = os.urandom(MAX_RESULT_BYTES)
    share(leases, "H1", largest)
    assert look(leases) == OtherSearch(result=largest, is_too_large=False)
    take(leases, "H2", minutes_ago=0)
    share(leases, "H2", largest + b"!")
    assert look(leases) == take(leases, "H3") == OtherSearch(result=None, is_too_large=True)


def test_dynamodb_deletes_what_has_ended(keywords: Keywords) -> None:
    leases = SearchLeases(keywords.table)
    before = time.time()
    take(leases, "H1", seconds=14)
    [item] = keywords.items()
    assert schema.KEYWORDS.ttl_attribute == "expires_at"
    assert before + 14 <= item["ends_at"] <= item["expires_at"] <= math.ceil(time.time() + 14)
    assert set(item) == {"pk", "sk", "holder", "ends_at", "expires_at"}
