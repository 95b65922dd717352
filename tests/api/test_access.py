"""Which knowledge bases callers may use, at every door, and for how long a change goes unnoticed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from gleaner.api.access import CACHED_SECONDS, Access
from gleaner.errors import StoreUnavailable
from gleaner.model import JsonObject
from gleaner.runtime.deadline import Deadline
from tests.conftest import Client, limit_callers, make_api, open_access, proxy_event
from tests.doubles.mcp_calls import call
from tests.doubles.mcp_calls import post as post_mcp
from tests.doubles.mcp_calls import request as mcp_request
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

CHAT = "/api/chat/query"
NOT_ALLOWED = (403, "urn:gleaner:problem:not-allowed")
QUESTION = {"query": "How are duplicates merged?"}


def soon() -> Deadline:
    return Deadline.after(20)


def ask(client: Client, model: ScriptedModel, caller: str = "mary", **event: Any) -> tuple[int, str | None]:
    model.plays(calls(search()), calls(answer()))
    status, body = client.post(CHAT, QUESTION, caller=caller, **event)
    return status, body.get("type")


class Clock:
    """Time of day, for the test to set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class CountingStore:
    """An access store that counts reads, and fails when it is told to."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.reads = 0
        self.is_down = False

    def find(self, subjects: Any, *, deadline: Deadline) -> Any:
        self.reads += 1
        if self.is_down:
            raise StoreUnavailable("The store could not be reached.")
        return self._store.find(subjects, deadline=deadline)


@pytest.mark.parametrize(("rule", "expected"), [("", 200), ("all", 200), ("none", 403)])
def test_the_environment_says_what_unlisted_callers_may_use(
    settings: dict[str, str], model: ScriptedModel, rule: str, expected: int
) -> None:
    client = Client(make_api(settings | {"UNLISTED_CALLERS": rule}))
    limit_callers(settings, {"key:listed": ["default_kb"]})
    assert ask(client, model)[0] == expected
    assert ask(client, model, "listed")[0] == 200


def test_an_anonymous_caller_can_be_limited(settings: dict[str, str], model: ScriptedModel) -> None:
    limit_callers(settings, {"anonymous": ["other_kb"]})
    client = Client(make_api(settings))
    assert ask(client, model, requestContext={}) == NOT_ALLOWED


def test_a_listed_caller_without_knowledge_bases_may_use_none(settings: dict[str, str], model: ScriptedModel) -> None:
    open_access(settings).revoke_all("key:mary", deadline=soon())
    client = Client(make_api(settings))
    assert ask(client, model) == NOT_ALLOWED
    assert client.request("GET", "/api/documents", caller="mary")[0] == 403
    assert client.request("GET", "/api/keywords", caller="mary") == (200, {"keywords": [], "next_cursor": None})
    models = client.request("GET", "/v1/models", caller="mary")[1]["data"]
    assert models == []
    assert model.requests == []


def test_a_change_is_noticed_within_a_minute(settings: dict[str, str]) -> None:
    table, clock = open_access(settings), Clock()
    store = CountingStore(table)
    access = Access(store, unlisted_may_use_all=True, clock=clock)  # type: ignore[arg-type]
    limit_callers(settings, {"key:mary": ["a"]})
    assert access.find(["key:mary"], deadline=soon()).kb_ids == {"a"}
    table.revoke_all("key:mary", deadline=soon())
    clock.now += CACHED_SECONDS - 0.1
    assert access.find(["key:mary"], deadline=soon()).kb_ids == {"a"}
    clock.now += 0.1
    assert access.find(["key:mary"], deadline=soon()).kb_ids == frozenset()
    assert (store.reads, CACHED_SECONDS <= 60) == (2, True)


@pytest.mark.parametrize("drift", [CACHED_SECONDS, -1.0])
def test_without_an_answer_of_the_store_nobody_gets_in(settings: dict[str, str], drift: float) -> None:
    """Also a clock that was set back makes what is remembered too old."""
    clock = Clock()
    store = CountingStore(open_access(settings))
    access = Access(store, unlisted_may_use_all=True, clock=clock)  # type: ignore[arg-type]
    assert access.find(["key:mary"], deadline=soon()).kb_ids is None
    store.is_down, clock.now = True, clock.now + drift
    for _ in range(2):  # a failed read is not remembered either
        with pytest.raises(StoreUnavailable):
            access.find(["key:mary"], deadline=soon())
    assert store.reads == 3


def _completion(client: Client) -> int:
    body = {"model": "gleaner", "messages": [{"role": "user", "content": "How are duplicates merged?"}]}
    return client.post("/v1/chat/completions", body)[0]


def _task(client: Client) -> int:
    task = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history."
    return client.post("/v1/chat/completions", {"model": "gleaner", "messages": [{"role": "user", "content": task}]})[0]


DOORS: dict[str, Callable[[Client], int]] = {
    "query": lambda client: client.post(CHAT, QUESTION)[0],
    "stream": lambda client: client.follow(QUESTION)[0],
    "session": lambda client: client.post("/api/sessions", {})[0],
    "completion": _completion,
    "title": _task,
    "models": lambda client: client.request("GET", "/v1/models")[0],
    "model": lambda client: client.request("GET", "/v1/models/gleaner")[0],
    "keywords": lambda client: client.request("GET", "/api/keywords")[0],
    "documents": lambda client: client.request("GET", "/api/documents")[0],
    "tools of MCP": lambda client: client.send(mcp_event(mcp_request("tools/list")))["statusCode"],
}


def mcp_event(message: JsonObject) -> JsonObject:
    headers = {"content-type": ["application/json"], "accept": ["application/json"]}
    return proxy_event("POST", "/mcp", "local") | {"multiValueHeaders": headers, "body": json.dumps(message)}


@pytest.mark.parametrize("door", DOORS)
def test_a_table_that_cannot_be_read_closes_every_door(
    settings: dict[str, str], model: ScriptedModel, door: str
) -> None:
    model.plays()
    client = Client(make_api(settings | {"ACCESS_TABLE": "missing"}))
    assert DOORS[door](client) == 503
    assert model.requests == []


def test_a_table_that_cannot_be_read_stops_questions_in_sessions(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    model.plays()
    session_id = Client(make_api(settings)).post("/api/sessions", {})[1]["session_id"]
    client = Client(make_api(settings | {"ACCESS_TABLE": "missing"}))
    assert client.post(f"/api/sessions/{session_id}/chat", QUESTION)[0] == 503
    assert model.requests == []


def test_a_table_that_cannot_be_read_stops_tools_but_neither_health_nor_the_handshake_of_mcp(
    settings: dict[str, str],
) -> None:
    client = Client(make_api(settings | {"ACCESS_TABLE": "missing"}))
    assert call(client, "search", query="merged")["isError"]
    assert client.request("GET", "/api/health")[0] == 200
    assert post_mcp(client, mcp_request("server/discover"))[0] == 200


@pytest.mark.parametrize("door", ["completion", "title"])
def test_a_model_of_others_is_unknown(settings: dict[str, str], model: ScriptedModel, door: str) -> None:
    model.plays()
    limit_callers(settings, {"key:local": ["other_kb"]})
    assert DOORS[door](Client(make_api(settings))) == 404
    assert model.requests == []


def member(groups: list[str], *, claim: str | None = None) -> dict[str, Any]:
    """A request of a user of a pool; the claim is API Gateway's unless it is given."""
    payload = base64.urlsafe_b64encode(json.dumps({"cognito:groups": groups}).encode()).decode().rstrip("=")
    claims = {"sub": "u1"} | ({"cognito:groups": claim or ",".join(groups)} if groups else {})
    return {
        "requestContext": {"authorizer": {"claims": claims}},
        "multiValueHeaders": {"content-type": ["application/json"], "authorization": [f"a.{payload}.c"]},
    }


@pytest.mark.parametrize(
    ("listed", "groups", "expected"),
    [
        ({"group:readers": ["default_kb"]}, ["readers"], 200),
        ({"group:readers": ["default_kb"]}, ["writers", "readers", "writers"], 200),
        ({"group:readers": ["other_kb"]}, ["readers"], 403),
        ({"group:readers": ["other_kb"], "cognito:u1": ["default_kb"]}, ["readers"], 200),
        ({"group:readers": ["other_kb"], "group:writers": ["default_kb"]}, ["readers", "writers"], 200),
        ({"group:readers": ["other_kb"]}, ["writers"], 200),  # not listed
        ({"group:readers": ["other_kb"]}, [], 200),
        ({"group:a,b": ["other_kb"]}, ["a,b"], 403),
        ({"group:a": ["other_kb"], "group:b": ["other_kb"]}, ["a,b"], 200),
    ],
)
def test_the_members_of_a_group_may_use_what_it_may(
    settings: dict[str, str], model: ScriptedModel, listed: dict[str, list[str]], groups: list[str], expected: int
) -> None:
    limit_callers(settings, listed)
    assert ask(Client(make_api(settings)), model, **member(groups))[0] == expected


def test_groups_that_cannot_be_told_give_no_access(settings: dict[str, str], model: ScriptedModel) -> None:
    client = Client(make_api(settings))
    assert ask(client, model, **member(["other"], claim="readers,writers")) == NOT_ALLOWED
