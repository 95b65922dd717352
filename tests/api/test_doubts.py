"""Stored answers that callers rated poor are not handed out until an admin has looked."""

from __future__ import annotations

from typing import Any

from tests.api.test_learning_modes import LEARNED, QUESTION, finds, learn
from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.doubles.scripted_web import ScriptedWeb


def rate(client: Client, model: ScriptedModel, caller: str, rating: int) -> None:
    """Ask a question that is answered from the stored answer, and rate it."""
    model.plays(calls(search(QUESTION)), calls(answer("Chemistry. [web-1]", ("web-1",))))
    status, asked = client.post("/api/chat/query", {"query": QUESTION}, caller=caller)
    assert status == 200 and LEARNED in str(model.requests[1])
    assert rate_query(client, asked["query_id"], caller, rating) == 200


def rate_query(client: Client, query_id: str, caller: str, rating: int) -> int:
    return client.post(f"/api/queries/{query_id}/feedback", {"rating": rating}, caller=caller)[0]


def doubtful(client: Client) -> list[Any]:
    status, listed = client.request("GET", "/api/keywords/answers", caller="admin")
    assert status == 200
    return list(listed["answers"])


def clear(client: Client, answer_id: str, caller: str = "admin") -> int:
    return client.request("DELETE", f"/api/keywords/answers/{answer_id}/doubts", caller=caller)[0]


def test_two_callers_make_an_answer_doubtful_and_an_admin_clears_it(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    rate(client, model, "bob", 1)
    rate(client, model, "bob", 2)
    rate(client, model, "eve", 3)
    assert (finds(client, model, "eve"), doubtful(client)) == (True, [])
    rate(client, model, "joe", 2)
    assert not finds(client, model, "ann")
    [item] = doubtful(client)
    assert (item["doubt_count"], item["answer"]["query"]) == (2, QUESTION)
    answer_id = item["answer"]["perplexity_result_id"]
    assert [clear(client, answer_id, caller) for caller in ("ann", "admin")] == [403, 204]
    assert (finds(client, model, "ann"), doubtful(client)) == (True, [])
    rate(client, model, "joe", 1)
    assert finds(client, model, "ann")


def test_who_taught_an_answer_may_doubt_it_and_change_their_mind(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learned = learn(client, model, web, "quantum computing", caller="ann")
    rate(client, model, "bob", 1)
    assert rate_query(client, learned["query_id"], "ann", 1) == 200
    assert not finds(client, model, "eve")
    assert rate_query(client, learned["query_id"], "ann", 5) == 200
    assert finds(client, model, "eve")


def test_doubts_of_an_erased_caller_do_not_count(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    rate(client, model, "bob", 1)
    rate(client, model, "joe", 1)
    assert client.request("DELETE", "/api/callers/key:joe", caller="admin")[0] == 200
    assert finds(client, model, "eve")


def test_answers_that_are_gone_are_neither_rated_nor_listed_nor_cleared(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learned = learn(client, model, web, "quantum computing", caller="ann")
    rate(client, model, "bob", 1)
    rate(client, model, "joe", 1)
    [item] = doubtful(client)
    answer_id = item["answer"]["perplexity_result_id"]
    assert client.request("DELETE", f"/api/keywords/answers/{answer_id}", caller="admin")[0] == 200
    assert rate_query(client, learned["query_id"], "ann", 1) == 200
    assert (doubtful(client), clear(client, answer_id)) == ([], 404)
