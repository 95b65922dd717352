"""Pruning and restoring keywords through the API."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keywords import KeywordStore
from gleaner_local.aws import ministack
from tests.conftest import Client

PATH = "/api/keywords"
EVERYTHING = {"max_age_days": 0.0000001, "min_usage": 100}


@pytest.fixture
def learned(settings: dict[str, str]) -> None:
    table = Table(ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"]), settings["KEYWORDS_TABLE"])
    use = KeywordUse(kb_id="default_kb", query_id="Q1", session_id=None, answer=None)
    KeywordStore(table, KeywordLayout(table)).index(
        ["quantum computing", "python packaging"], use, deadline=Deadline.after(30)
    )


def as_admin(client: Client, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    if body is None:
        return client.request(method, path, caller="admin")
    return client.post(path, body, caller="admin")


def texts(client: Client) -> set[str]:
    return {item["keyword_text"] for item in client.request("GET", PATH)[1]["keywords"]}


def test_a_dry_run_is_the_default_and_shows_what_would_be_pruned(client: Client, learned: None) -> None:
    status, report = as_admin(client, "POST", f"{PATH}/prune", EVERYTHING)
    assert (status, report["dry_run"], report["candidate_count"], report["pruned_count"]) == (200, True, 2, 0)
    assert {candidate["keyword_text"] for candidate in report["candidates"]} == {
        "quantum computing",
        "python packaging",
    }
    assert all(candidate["reason"] for candidate in report["candidates"])
    assert len(texts(client)) == 2


def test_a_run_prunes_and_is_restored_completely(client: Client, learned: None) -> None:
    status, report = as_admin(client, "POST", f"{PATH}/prune", EVERYTHING | {"dry_run": False})
    assert (status, report["pruned_count"], report["finished"]) == (200, 2, True)
    assert texts(client) == set()
    status, run = as_admin(client, "GET", f"{PATH}/runs/{report['run_id']}")
    assert (status, run["pruned"], run["by"], run["min_usage"]) == (200, 2, "key:admin", 100)
    body = {"run_id": report["run_id"]}
    assert as_admin(client, "POST", f"{PATH}/restore", body) == (200, {"restored_count": 2})
    assert len(texts(client)) == 2


def test_one_keyword_is_pruned_and_restored(client: Client, learned: None) -> None:
    [keyword] = [k for k in client.request("GET", PATH)[1]["keywords"] if k["keyword_text"] == "quantum computing"]
    path = f"{PATH}/{keyword['keyword_id']}"
    status, report = as_admin(client, "DELETE", path)
    assert (status, report["pruned_count"]) == (200, 1)
    assert texts(client) == {"python packaging"}
    assert as_admin(client, "DELETE", path)[1]["pruned_count"] == 0
    body = {"keyword_id": keyword["keyword_id"]}
    assert as_admin(client, "POST", f"{PATH}/restore", body) == (200, {"restored_count": 1})
    assert len(texts(client)) == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{PATH}/prune", {}),
        ("POST", f"{PATH}/restore", {"run_id": "0" * 26}),
        ("DELETE", f"{PATH}/{'0' * 32}", None),
        ("GET", f"{PATH}/runs/{'0' * 26}", None),
    ],
)
def test_pruning_is_for_admins(client: Client, method: str, path: str, body: Any) -> None:
    status, problem = client.post(path, body) if body is not None else client.request(method, path)
    assert (status, problem["type"]) == (403, "urn:gleaner:problem:not-allowed")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("prune", {"max_age_days": 0}, 400),
        ("prune", {"max_age_days": -1}, 400),
        ("prune", {"max_age_days": 5e-324, "dry_run": False}, 400),
        ("prune", {"min_usage": 1.5}, 400),
        ("prune", {"dry_run": "no"}, 400),
        ("prune", {"surprise": 1}, 400),
        ("restore", {}, 400),
        ("restore", {"keyword_id": "0" * 32, "run_id": "0" * 26}, 400),
        ("restore", {"keyword_id": "x"}, 400),
        ("restore", {"keyword_id": "0" * 32}, 404),
        ("restore", {"run_id": new_id()}, 404),
    ],
)
def test_bad_requests_are_refused(client: Client, path: str, body: Any, status: int) -> None:
    actual, problem = as_admin(client, "POST", f"{PATH}/{path}", body)
    assert actual == status and problem["detail"]
