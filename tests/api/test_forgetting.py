"""Forgetting stored web answers, and blocked hosts, through the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.clients.answer_index import AnswerIndex
from gleaner_local.aws import ministack
from tests.conftest import Client, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result

QUESTION = "What is quantum computing used for?"
PAGES = (result(1, "https://q.example/a", "Quantum computing"), result(2, "https://r.example/b", "Chemistry"))


def learn(client: Client, model: ScriptedModel, web: ScriptedWeb, *keywords: str) -> dict[str, Any]:
    """Ask a question that is answered from the web and learned under these keywords."""
    web.finds("Quantum computing is used for chemistry. [1][2]", *PAGES)
    model.plays(
        calls(search()),
        calls(web_search(QUESTION)),
        calls(index(*keywords)),
        calls(answer("It is used for chemistry. [web-1]", ("web-1",))),
    )
    status, body = client.ask(QUESTION)
    assert status == 200, body
    return dict(body)


def stored_answers(client: Client) -> list[dict[str, Any]]:
    keywords = client.request("GET", "/api/keywords")[1]["keywords"]
    details = [client.request("GET", f"/api/keywords/{k['keyword_id']}", caller="admin")[1] for k in keywords]
    return [stored for one in details for stored in one["answers"]]


def forget(client: Client, answer_id: str, caller: str = "admin") -> tuple[int, Any]:
    return client.request("DELETE", f"/api/keywords/answers/{answer_id}", caller=caller)


def test_an_admin_makes_the_service_forget_an_answer(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    learn(client, model, web, "quantum computing", "chemistry")
    first, second = stored_answers(client)
    answer_id = first["perplexity_result_id"]
    assert answer_id == second["perplexity_result_id"]
    assert forget(client, answer_id, "local")[0] == 403
    status, report = forget(client, answer_id)
    assert (status, report["answer_id"], report["keyword_count"]) == (200, answer_id, 2)
    assert report["pages"] == ["https://q.example/a", "https://r.example/b"]
    assert forget(client, answer_id) == (200, report)
    assert stored_answers(client) == []


def test_a_later_question_is_answered_but_its_pages_are_not_learned_from(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(client, model, web, "quantum computing")
    [stored] = stored_answers(client)
    forget(client, stored["perplexity_result_id"])
    body = learn(client, model, web, "quantum computing")
    assert (body["status"], body["keyword_count"]) == ("success", 0)
    assert [source["source_url"] for source in body["sources"]] == ["https://q.example/a"]
    assert stored_answers(client) == []


def test_stored_answers_expire(
    client: Client, settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, items: Any
) -> None:
    learn(client, model, web, "quantum computing")
    [stored] = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
    created_at = datetime.fromisoformat(stored["created_at"]).timestamp()
    assert 0 <= stored["expires_at"] - created_at - 30 * 24 * 3600 < 1
    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    dynamodb.update_item(  # as if it were 30 days later, before DynamoDB deletes it
        TableName=settings["KEYWORDS_TABLE"],
        Key={"pk": {"S": stored["pk"]}, "sk": {"S": "ANSWER"}},
        UpdateExpression="SET expires_at = :past",
        ExpressionAttributeValues={":past": {"N": str(int(created_at) - 1)}},
    )
    model.plays(calls(search(QUESTION)), calls(answer()))
    client.ask(QUESTION)
    assert "used for chemistry" not in str(model.requests[1])
    assert stored_answers(client) == []
    expiry = dynamodb.describe_time_to_live(TableName=settings["KEYWORDS_TABLE"])["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}


@pytest.mark.parametrize(("answer_id", "status"), [("01ARZ3NDEKTSV4RRFFQ69G5FAV", 404), ("x", 400)])
def test_an_unknown_answer_is_reported(client: Client, answer_id: str, status: int) -> None:
    assert forget(client, answer_id)[0] == status


def test_pages_of_blocked_hosts_are_neither_cited_nor_learned_from(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"WEB_BLOCKED_HOSTS": "Q.example"}))
    body = learn(client, model, web, "quantum computing")
    assert [source["source_url"] for source in body["sources"]] == ["https://r.example/b"]
    assert (body["status"], body["keyword_count"]) == ("success", 0)
    assert "q.example" not in str(model.requests)
    assert stored_answers(client) == []


def test_stored_answers_from_a_host_that_is_blocked_later_are_not_served(
    client: Client, settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(client, model, web, "quantum computing")
    for hosts, is_served in (("", True), ("other.example", True), ("r.example", False)):
        model.plays(calls(search(QUESTION)), calls(answer()))
        Client(make_api(settings | {"WEB_BLOCKED_HOSTS": hosts})).ask(QUESTION)
        assert ("used for chemistry" in str(model.requests[1])) == is_served


def test_forgetting_deletes_the_record_in_the_vector_index(
    client: Client, model: ScriptedModel, web: ScriptedWeb, index_host: str
) -> None:
    learn(client, model, web, "quantum computing")
    [stored] = stored_answers(client)
    records = AnswerIndex(pinecone.connect(host=index_host, api_key=lambda: "k"))
    answer_id = stored["perplexity_result_id"]
    assert answer_id in records.search("default_kb", QUESTION, top_k=50, timeout=20)
    forget(client, answer_id)
    assert answer_id not in records.search("default_kb", QUESTION, top_k=50, timeout=20)
