"""What each door counts and refuses, and what callers and admins see of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from openai import OpenAI, RateLimitError

from gleaner.model import new_id
from tests.api.completions import Door, user
from tests.api.serving import serving
from tests.conftest import Client, make_api, proxy_event
from tests.doubles.event_stream import Reader
from tests.doubles.mcp_calls import call
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search

PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 1, "output": 2}', "WEB_SEARCH_PRICE": "0.01"}
QUESTION = {"query": "How are duplicates merged?"}
USED_UP = "Your questions of today are used up: the limit is 1. Ask again after midnight UTC."
Items = Callable[[str], list[dict[str, Any]]]
Ask = Callable[[Client], object]


@pytest.fixture
def limited(settings: dict[str, str], model: ScriptedModel) -> Client:
    """A service that answers one question of each caller."""
    model.plays(converse)
    return Client(make_api(settings | PRICES | {"QUESTIONS_PER_DAY": "1", "USD_PER_DAY": "5"}))


def converse(request: dict[str, Any]) -> dict[str, Any]:
    return calls(answer()) if request["messages"][-1]["role"] == "tool" else calls(search())


def usage(client: Client, caller: str = "local", **query: str) -> dict[str, Any]:
    status, body = client.request("GET", "/api/usage", caller=caller, queryStringParameters=query)
    assert status == 200, body
    return dict(body)


def in_session(client: Client, tail: str) -> str:
    return f"/api/sessions/{client.post('/api/sessions', {})[1]['session_id']}{tail}"


def post(client: Client, path: str, body: dict[str, Any] = QUESTION, *, streams: bool = False) -> dict[str, Any]:
    event = proxy_event("POST", path, "local") | {"body": json.dumps(body)}
    return client.send(event, Reader() if streams else None)


PLAIN = {"model": "gleaner-plain", "messages": [user("A title?")]}
COMPLETION = {"model": "gleaner", "messages": [user()]}
DOORS: dict[str, Callable[[Client], dict[str, Any]]] = {
    "query": lambda client: post(client, "/api/chat/query"),
    "stream": lambda client: post(client, "/api/chat/stream", streams=True),
    "session": lambda client: post(client, in_session(client, "/chat")),
    "stream in a session": lambda client: post(client, in_session(client, "/chat/stream"), streams=True),
    "completion": lambda client: post(client, "/v1/chat/completions", COMPLETION),
    "streamed completion": lambda client: post(
        client, "/v1/chat/completions", COMPLETION | {"stream": True}, streams=True
    ),
    "title": lambda client: post(client, "/v1/chat/completions", PLAIN),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_counts_a_question_once_and_refuses_the_next_in_its_form(
    limited: Client, model: ScriptedModel, door: str
) -> None:
    if door == "title":
        model.plays(says("A title"))
    assert DOORS[door](limited)["statusCode"] == 200
    assert usage(limited)["questions"] == 1
    for _ in range(2):  # the first refusal comes beside a call of the model, the second before one
        response = DOORS[door](limited)
        assert response["statusCode"] == 429
        [seconds] = response["multiValueHeaders"]["Retry-After"]
        assert 0 < int(seconds) <= 24 * 3600
        body = json.loads(response["body"])
        if "completion" in door or door == "title":
            error = body["error"]
            assert (error["type"], error["code"], error["message"]) == (*["insufficient_quota"] * 2, USED_UP)
            assert response["multiValueHeaders"]["x-should-retry"] == ["false"]
        else:
            assert (body["type"], body["detail"]) == ("urn:gleaner:problem:quota-exceeded", USED_UP)
            assert body["quota"] == "caller"
    assert usage(limited)["questions"] == 1


def test_a_refusal_says_that_the_quota_of_all_is_used_up(settings: dict[str, str], model: ScriptedModel) -> None:
    model.plays(converse)
    client = Client(make_api(settings | {"ENVIRONMENT_QUESTIONS_PER_DAY": "1"}))
    assert post(client, "/api/chat/query")["statusCode"] == 200
    for path, streams in (("/api/chat/query", False), ("/api/chat/stream", True)):
        assert json.loads(post(client, path, streams=streams)["body"])["quota"] == "environment"
    assert "quota" not in json.loads(post(client, "/api/chat/query", {})["body"])


def test_a_clients_model_reads_that_the_quota_is_used_up(limited: Client) -> None:
    assert not call(limited, "ask", question="How?").get("isError")
    assert usage(limited)["questions"] == 1
    for _ in range(2):
        result = call(limited, "ask", question="How?")
        assert result["isError"]
        assert result["content"] == [{"type": "text", "text": USED_UP}]
    assert not call(limited, "search", query="duplicates").get("isError")  # calls no model
    assert usage(limited)["questions"] == 1


def test_the_doors_share_one_account(limited: Client) -> None:
    assert DOORS["completion"](limited)["statusCode"] == 200
    assert {door: DOORS[door](limited)["statusCode"] for door in DOORS} == dict.fromkeys(DOORS, 429)
    assert call(limited, "ask", question="How?")["isError"]


def test_a_repeated_request_counts_once_and_is_answered_beyond_the_quota(limited: Client) -> None:
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    event = {"headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}
    first = limited.post("/api/chat/query", QUESTION, **event)
    assert limited.post("/api/chat/query", QUESTION, **event) == first
    door = Door(limited)
    assert door.ask(key="k", caller="bob") == door.ask(key="k", caller="bob")
    assert usage(limited)["questions"] == usage(limited, "bob")["questions"] == 1


def test_a_refused_request_may_be_repeated_under_its_key(settings: dict[str, str], model: ScriptedModel) -> None:
    model.plays(converse)
    headers = {"content-type": "application/json", "idempotency-key": "k"}
    event = {"headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}
    client = Client(make_api(settings | {"QUESTIONS_PER_DAY": "1"}))
    client.ask()
    assert client.post("/api/chat/query", QUESTION, **event)[0] == 429
    raised = Client(make_api(settings | {"QUESTIONS_PER_DAY": "2"}))
    assert raised.post("/api/chat/query", QUESTION, **event)[0] == 200


@pytest.fixture
def openai(limited: Client) -> Iterator[OpenAI]:
    with serving(limited) as address:
        yield OpenAI(base_url=f"{address}/v1", api_key="any")  # pragma: allowlist secret


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client_asks_no_second_time(
    openai: OpenAI, model: ScriptedModel, limited: Client, stream: bool
) -> None:
    def ask() -> None:
        openai.chat.completions.create(model="gleaner", messages=[{"role": "user", "content": "How?"}], stream=stream)

    ask()
    assert openai.max_retries == 2
    model.plays(converse)
    with pytest.raises(RateLimitError) as refusal:
        ask()
    assert (refusal.value.code, refusal.value.type) == ("insufficient_quota", "insufficient_quota")
    assert len(model.requests) == 1


def test_callers_see_their_own_use(limited: Client, settings: dict[str, str]) -> None:
    before = datetime.now(UTC)
    fresh = usage(limited)
    assert datetime.fromisoformat(fresh["resets_at"]) in (_midnight(before), _midnight(datetime.now(UTC)))
    assert fresh == {
        "day": fresh["day"],
        "resets_at": fresh["resets_at"],
        "questions": 0,
        "estimated_usd": 0.0,
        "limits": {"questions": 1, "usd": 5.0},
        "environment": None,
        "callers": None,
        "next_cursor": None,
    }
    cost = limited.ask()[1]["cost"]["estimated_usd"]
    own = usage(limited)
    assert (own["questions"], own["estimated_usd"]) == (1, pytest.approx(cost))
    assert usage(limited, "bob")["questions"] == 0


NO_COST = {"OPENAI_PRICES": '{"input": 0, "cached_input": 0, "output": 0}', "WEB_SEARCH_PRICE": "0"}


@pytest.mark.parametrize("prices", [{}, {"OPENAI_PRICES": PRICES["OPENAI_PRICES"]}, NO_COST], ids=["none", "half", "0"])
def test_no_cost_is_shown_without_prices_by_which_money_is_counted(
    settings: dict[str, str], prices: dict[str, str]
) -> None:
    report = usage(Client(make_api(settings | prices)))
    assert (report["estimated_usd"], report["limits"]) == (None, {"questions": None, "usd": None})


def _midnight(now: datetime) -> datetime:
    return datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)


def test_admins_see_the_environment_and_its_callers_page_by_page(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    model.plays(converse)
    limits = {"ENVIRONMENT_USD_PER_DAY": "9", "QUESTIONS_PER_DAY": "7", "QUOTA_ADMINS_EXEMPT": "on"}
    client = Client(make_api(settings | PRICES | limits))
    names = ("ann", "bob", "cas", "admin")
    for caller in names:
        client.post("/api/chat/query", QUESTION, caller=caller)
    report = usage(client, "admin", limit="3")
    assert report["limits"] == {"questions": None, "usd": None}
    assert report["environment"]["limits"] == {"questions": None, "usd": 9.0}
    assert report["environment"]["questions"] == 4
    rest = usage(client, "admin", limit="3", cursor=report["next_cursor"])
    assert (len(report["callers"]), len(rest["callers"]), rest["next_cursor"]) == (3, 1, None)
    listed = report["callers"] + rest["callers"]
    assert {one["caller_id"] for one in listed} == {f"key:{name}" for name in names}
    assert {one["questions"] for one in listed} == {1}
    assert sum(one["estimated_usd"] for one in listed) == pytest.approx(report["environment"]["estimated_usd"])
    forged = client.request(
        "GET", "/api/usage", caller="admin", queryStringParameters={"cursor": f"{report['next_cursor']}x"}
    )
    assert (forged[0], forged[1]["type"]) == (400, "urn:gleaner:problem:invalid-cursor")


def test_the_use_of_an_erased_caller_goes_with_the_rest(limited: Client, items: Items) -> None:
    limited.post("/api/chat/query", QUESTION, caller="ann")
    limited.post("/api/chat/query", QUESTION, caller="bob")
    assert limited.request("DELETE", "/api/callers/key:ann", caller="admin")[0] == 200
    assert {item["caller_id"]: item["questions"] for item in items("USAGE_TABLE")} == {"key:bob": 1, "*": 2}
    long_id = f"key:{'x' * 2044}"
    assert limited.request("DELETE", f"/api/callers/{long_id}", caller="admin")[0] == 200


def test_an_unknown_session_costs_nothing_at_any_door(limited: Client, model: ScriptedModel) -> None:
    for path in ("/api/chat/query", "/api/chat/stream"):
        assert post(limited, path, QUESTION | {"session_id": new_id()})["statusCode"] == 404
    assert post(limited, f"/api/sessions/{new_id()}/chat")["statusCode"] == 404
    assert model.requests == []
    assert usage(limited)["questions"] == 0
    assert limited.ask()[0] == 200
