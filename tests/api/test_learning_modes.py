"""Who finds and who sees what a question learned from the web."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gleaner.stores import schema
from gleaner_local.aws import ministack
from tests.conftest import Client, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result

QUESTION = "What is quantum computing used for?"
PAGE = result(1, "https://q.example/a", "Quantum computing")
LEARNED = "used for chemistry"

Items = Callable[[str], list[dict[str, Any]]]


def learn(client: Client, model: ScriptedModel, web: ScriptedWeb, *keywords: str, caller: str, **body: Any) -> Any:
    """Ask a question that is answered from the web; the model indexes these keywords."""
    web.finds("Quantum computing is used for chemistry. [1]", PAGE)
    model.plays(
        calls(search(QUESTION)),
        calls(web_search(QUESTION)),
        calls(index(*keywords), answer("It is used for chemistry. [web-1]", ("web-1",))),
    )
    status, learned = client.post("/api/chat/query", {"query": QUESTION} | body, caller=caller)
    assert status == 200, learned
    return learned


def finds(client: Client, model: ScriptedModel, caller: str, **body: Any) -> bool:
    """Whether a caller's search finds the stored answer."""
    model.plays(calls(search(QUESTION)), calls(answer("Nothing fits.", ())))
    assert client.post("/api/chat/query", {"query": QUESTION} | body, caller=caller)[0] == 200
    return LEARNED in str(model.requests[1])


def listed(client: Client, caller: str, **query: str) -> set[str]:
    parameters = {name: [value] for name, value in query.items()} or None
    status, page = client.request("GET", "/api/keywords", caller=caller, multiValueQueryStringParameters=parameters)
    assert status == 200
    return {keyword["keyword_text"] for keyword in page["keywords"]}


def offered(model: ScriptedModel) -> set[str]:
    return {tool["function"]["name"] for request in model.requests for tool in request["tools"]}


def test_shared_answers_are_found_by_every_caller(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    assert [finds(client, model, caller) for caller in ("ann", "bob")] == [True, True]


def test_a_fresh_question_is_asked_past_stored_answers(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    found = [finds(client, model, "ann", fresh=fresh) for fresh in (True, False, None)]
    assert found == [False, True, True]


def test_private_answers_are_found_by_their_caller_alone(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    learn(client, model, web, "quantum computing", caller="ann")
    assert [finds(client, model, caller) for caller in ("ann", "bob")] == [True, False]
    learn(client, model, web, "quantum computing", caller="bob")
    assert [finds(client, model, caller) for caller in ("ann", "bob", "eve")] == [True, True, False]
    assert [listed(client, caller, q="quantum") for caller in ("ann", "eve")] == [{"quantum computing"}, set()]


def test_a_mode_that_becomes_stricter_hides_what_others_taught(
    settings: dict[str, str], client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    strict = Client(make_api(settings | {"LEARNING": "caller"}))
    assert [finds(strict, model, caller) for caller in ("ann", "bob")] == [True, False]
    off = Client(make_api(settings | {"LEARNING": "off"}))
    assert not finds(off, model, "ann")


def test_what_was_private_stays_so_when_the_mode_becomes_shared(
    settings: dict[str, str], client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(Client(make_api(settings | {"LEARNING": "caller"})), model, web, "quantum computing", caller="ann")
    assert not finds(client, model, "bob")


def test_answers_of_earlier_versions_are_shared(
    settings: dict[str, str], client: Client, model: ScriptedModel, web: ScriptedWeb, items: Items, remove: Any
) -> None:
    remove(schema.LAYOUT_KEY, "compact_from")
    learn(client, model, web, "quantum computing", caller="ann")
    for item in items("KEYWORDS_TABLE"):
        remove(item, "caller", "callers", "newest_answers")
    strict = Client(make_api(settings | {"LEARNING": "caller"}))
    assert [finds(strict, model, caller) for caller in ("ann", "bob")] == [True, True]
    assert listed(strict, "bob") == {"quantum computing"}
    learn(client, model, web, "quantum computing", caller="bob")  # does not make it a keyword of one caller
    assert listed(strict, "eve") == {"quantum computing"}


@pytest.mark.parametrize(("setting", "is_found"), [("off", True), ("on", False)])
def test_shared_answers_go_with_their_session_where_the_setting_says_so(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, setting: str, is_found: bool, items: Items
) -> None:
    client = Client(make_api(settings | {"LEARNING_FORGET_WITH_SESSION": setting}))
    learned = learn(client, model, web, "quantum computing", caller="ann")
    path = f"/api/sessions/{learned['session_id']}"
    assert client.request("DELETE", path, caller="ann")[0] == 204
    assert finds(client, model, "bob") == is_found
    assert QUESTION not in str(items("KEYWORDS_TABLE"))


def test_nothing_is_learned_when_learning_is_off(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    client = Client(make_api(settings | {"LEARNING_BY_KB": "default_kb=off"}))
    web.finds("Quantum computing is used for chemistry. [1]", PAGE)
    model.plays(calls(search()), calls(web_search()), calls(answer("Chemistry. [web-1]", ("web-1",))))
    status, body = client.ask(QUESTION)
    assert (status, body["status"], body["keyword_count"]) == (200, "success", 0)
    assert len(model.requests) == 3  # no reminder
    assert "index_keywords" not in offered(model)
    assert "Nothing is learned" in str(model.requests[0]["messages"][0])
    assert items("KEYWORDS_TABLE") == []


def test_a_model_that_indexes_anyway_is_refused(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    client = Client(make_api(settings | {"LEARNING": "off"}))
    body = learn(client, model, web, "quantum computing", caller="ann")
    assert (body["status"], body["keyword_count"]) == ("success", 0)
    assert items("KEYWORDS_TABLE") == []


def test_a_keyword_is_seen_by_who_caused_it_or_by_all_once_three_callers_did(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    learn(client, model, web, "quantum computing", "chemistry", caller="bob")
    assert listed(client, "ann") == {"quantum computing"}
    assert listed(client, "bob") == listed(client, "admin") == {"quantum computing", "chemistry"}
    assert listed(client, "eve") == listed(client, "eve", q="quantum chemistry") == set()
    learn(client, model, web, "quantum computing", caller="joe")
    assert listed(client, "eve") == listed(client, "eve", q="quantum chemistry") == {"quantum computing"}


def test_a_caller_sees_the_answers_that_they_caused(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    learn(client, model, web, "quantum computing", caller="ann")
    learn(client, model, web, "quantum computing", caller="bob")
    [keyword] = client.request("GET", "/api/keywords", caller="ann")[1]["keywords"]

    def show(caller: str) -> tuple[int, int, int]:
        status, shown = client.request("GET", f"/api/keywords/{keyword['keyword_id']}", caller=caller)
        return status, len(shown.get("associations", ())), len(shown.get("answers", ()))

    assert [show(caller) for caller in ("ann", "bob", "admin", "eve")] == [
        (200, 1, 1),
        (200, 1, 1),
        (200, 3, 2),  # one is a use
        (404, 0, 0),
    ]


@pytest.fixture
def remove(settings: dict[str, str]) -> Callable[..., None]:
    """Removes attributes of an item of the keywords table."""
    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])

    def remove_attributes(item: dict[str, Any], *names: str) -> None:
        dynamodb.update_item(
            TableName=settings["KEYWORDS_TABLE"],
            Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}},
            UpdateExpression=f"REMOVE {', '.join(f'#{name}' for name in names)}",
            ExpressionAttributeNames={f"#{name}": name for name in names},
        )

    return remove_attributes
