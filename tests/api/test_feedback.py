"""Ratings of answers: stored with the query, counted once, and only accepted from the caller who asked."""

from __future__ import annotations

from typing import Any

import pytest
from aws_lambda_powertools import Metrics

from tests.conftest import Client, keep_former_form
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

UNKNOWN_QUERY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(params=["compact", "former"])
def query_id(settings: dict[str, str], client: Client, model: ScriptedModel, request: pytest.FixtureRequest) -> str:
    """A query of the caller `local`, by the form of the items of its tool calls."""
    if request.param == "former":
        keep_former_form(settings)
    model.plays(calls(search()), calls(answer()))
    return str(client.ask()[1]["query_id"])


def rate(client: Client, query_id: str, caller: str = "local", **body: Any) -> tuple[int, Any]:
    return client.post(f"/api/queries/{query_id}/feedback", body, caller=caller)


def test_feedback_is_stored_with_its_query(client: Client, query_id: str) -> None:
    status, feedback = rate(client, query_id, rating=4, comment="Short \u200band right.")
    assert status == 200
    assert (feedback["query_id"], feedback["rating"], feedback["comment"]) == (query_id, 4, "Short and right.")
    assert client.request("GET", f"/api/queries/{query_id}/feedback") == (200, feedback)
    calls_of_query = client.request("GET", f"/api/queries/{query_id}/tool-calls")[1]["tool_calls"]
    assert [call["tool_name"] for call in calls_of_query] == ["knowledge_base_search", "generate_response"]


def test_the_last_rating_is_stored_and_the_first_is_counted(client: Client, query_id: str) -> None:
    metrics = Metrics(namespace="Gleaner", service="query")
    metrics.clear_metrics()
    rate(client, query_id, rating=2, comment="Wrong?")
    rate(client, query_id, rating=5)
    assert metrics.metric_set["FeedbackRating"]["Value"] == [2.0]
    feedback = client.request("GET", f"/api/queries/{query_id}/feedback")[1]
    assert (feedback["rating"], feedback["comment"]) == (5, "")


def test_only_the_caller_who_asked_may_rate(client: Client, query_id: str, items: Any) -> None:
    for caller, of_query in (("somebody else", query_id), ("local", UNKNOWN_QUERY)):
        status, problem = rate(client, of_query, caller, rating=1)
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-query")
    assert not [item for item in items("TOOL_CALLS_TABLE") if item["sk"] == "FEEDBACK"]
    rate(client, query_id, rating=3)
    assert rate(client, query_id, "somebody else", rating=1)[0] == 404
    assert client.request("GET", f"/api/queries/{query_id}/feedback", caller="somebody else")[0] == 404
    assert client.request("GET", f"/api/queries/{query_id}/feedback")[1]["rating"] == 3


def test_feedback_on_an_unrated_query_is_a_404(client: Client, query_id: str) -> None:
    assert client.request("GET", f"/api/queries/{query_id}/feedback")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rating": 0},
        {"rating": 6},
        {"rating": 4.5},
        {"rating": "5"},
        {"rating": True},
        {"rating": 5, "comment": "x" * 2001},
        {"rating": 5, "comment": None},
        {"rating": 5, "note": "x"},
    ],
)
def test_invalid_ratings_are_refused(client: Client, query_id: str, body: dict[str, Any]) -> None:
    status, problem = rate(client, query_id, **body)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert problem["errors"]
