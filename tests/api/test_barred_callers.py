"""What a caller may still do who may use no knowledge base, or no longer the one that an answer came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import Response

from gleaner.model import JsonObject
from gleaner.runtime.deadline import Deadline
from tests.conftest import Client, limit_callers, make_api, open_access
from tests.doubles.mcp_calls import call
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search

QUESTION = "How are duplicates merged?"
TITLE = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history."
MODELS = ("gleaner", "gleaner:other_kb", "gleaner-plain")


def complete(client: Client, model: str, text: str = QUESTION, **event: Any) -> tuple[int, JsonObject]:
    return client.post(
        "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": text}]}, **event
    )


def keyed(key: str) -> dict[str, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    return {"headers": headers, "multiValueHeaders": {name: [value] for name, value in headers.items()}}


def restart_without(settings: dict[str, str], *kb_ids: str) -> Client:
    """A process that has asked nothing yet, after the caller was limited to these."""
    open_access(settings).revoke_all("key:local", deadline=Deadline.after(20))
    if kb_ids:
        limit_callers(settings, {"key:local": list(kb_ids)})
    return Client(make_api(settings))


@pytest.fixture(params=["revoked", "unlisted"])
def barred(request: pytest.FixtureRequest, settings: dict[str, str]) -> Client:
    if request.param == "revoked":
        return restart_without(settings)
    return closed(settings)


def closed(settings: dict[str, str]) -> Client:
    """A process of an environment in which unlisted callers may use nothing."""
    return Client(make_api(settings | {"UNLISTED_CALLERS": "none"}))


@pytest.mark.parametrize("text", [QUESTION, TITLE])
@pytest.mark.parametrize("name", MODELS)
def test_whoever_is_barred_costs_no_call_of_the_model(
    settings: dict[str, str], model: ScriptedModel, name: str, text: str
) -> None:
    model.plays(says("paid"))
    status, body = complete(closed(settings), name, text)
    assert (status, body["error"]["code"], model.requests) == (403, "not-allowed", [])


@pytest.mark.parametrize("turn", [calls(search()), says("Paid."), Response(status_code=401)])
def test_whoever_was_barred_costs_a_process_one_call_of_the_model_at_most(
    settings: dict[str, str], model: ScriptedModel, items: Any, turn: Any
) -> None:
    model.plays(turn, turn, turn)
    client = restart_without(settings)
    for _ in range(3):
        status, body = complete(client, "gleaner")
        assert (status, body["error"]["code"]) == (403, "not-allowed")
    assert len(model.requests) <= 1
    assert items("TOOL_CALLS_TABLE") == []  # nothing was searched


def test_whoever_is_barred_is_offered_no_model(barred: Client) -> None:
    assert barred.request("GET", "/v1/models")[1]["data"] == []
    for name in MODELS:
        assert barred.request("GET", f"/v1/models/{name}")[0] == 404


def test_whoever_is_barred_creates_no_session(barred: Client, items: Any) -> None:
    assert barred.post("/api/sessions", {})[0] == 403
    assert items("CONVERSATIONS_TABLE") == []


def test_whoever_may_use_one_other_may_still_ask_the_model_alone(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    limit_callers(settings, {"key:local": ["other_kb"]})
    model.plays(says("A title"))
    client = Client(make_api(settings))
    assert complete(client, "gleaner-plain")[0] == 200
    assert "gleaner-plain" in [one["id"] for one in client.request("GET", "/v1/models")[1]["data"]]


Ask = Callable[[Client], tuple[int, Any]]
REPLAYS: dict[str, tuple[Ask, tuple[int, int]]] = {  # the status without any knowledge base, and with another one
    "query": (lambda client: client.post("/api/chat/query", {"query": QUESTION}, **keyed("k")), (403, 403)),
    "stream": (lambda client: client.follow({"query": QUESTION}, **keyed("k")), (403, 403)),
    "completion": (lambda client: complete(client, "gleaner", **keyed("k")), (403, 404)),
    "plain": (lambda client: complete(client, "gleaner-plain", **keyed("k")), (403, 200)),
}


@pytest.mark.parametrize("door", REPLAYS)
def test_an_answer_is_not_sent_again_after_a_revocation(
    settings: dict[str, str], model: ScriptedModel, door: str
) -> None:
    ask, (barred, limited) = REPLAYS[door]
    model.plays(*([says("A title")] if door == "plain" else [calls(search()), calls(answer())]))
    assert ask(Client(make_api(settings)))[0] == 200
    paid = len(model.requests)
    assert ask(restart_without(settings))[0] == barred
    assert ask(restart_without(settings, "other_kb"))[0] == limited
    assert ask(restart_without(settings, "default_kb"))[0] == 200
    assert len(model.requests) == paid


def test_a_turn_is_not_sent_again_after_a_revocation(settings: dict[str, str], model: ScriptedModel) -> None:
    client = Client(make_api(settings))
    session_id = client.post("/api/sessions", {})[1]["session_id"]
    path = f"/api/sessions/{session_id}/chat"
    model.plays(calls(search()), calls(answer()))
    assert client.post(path, {"query": QUESTION}, **keyed("k"))[0] == 200
    without = restart_without(settings)
    assert without.post(path, {"query": QUESTION}, **keyed("k"))[0] == 403
    messages = without.request("GET", f"/api/sessions/{session_id}/messages")[1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]  # what the caller got stays the caller's


def test_a_passage_of_others_is_refused_whether_or_not_it_exists(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    model.plays(calls(search()), calls(answer()))
    [source, *_] = Client(make_api(settings)).ask()[1]["sources"]
    cited = source["passage_url"]
    missing = cited.replace("default_kb.", "nowhere.")
    client = restart_without(settings, "other_kb")
    assert [client.request("GET", path)[0] for path in (cited, missing)] == [403, 403]


@pytest.mark.parametrize("tool", ["search", "ask"])
def test_tools_give_advice_that_can_be_followed(settings: dict[str, str], model: ScriptedModel, tool: str) -> None:
    model.plays()
    argument = {"search": "query", "ask": "question"}[tool]
    for kb_ids, advice in (((), "You may use no knowledge base"), (("not-loaded-yet",), "'not-loaded-yet'")):
        said = call(restart_without(settings, *kb_ids), tool, **{argument: QUESTION})
        [text] = said["content"]
        assert said["isError"] and "leave kb_id out" not in text["text"]
        assert advice in text["text"]
        assert "Name one of yours" not in text["text"]


def test_whoever_is_barred_is_not_sent_to_search_for_ids(settings: dict[str, str], model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    [source, *_] = Client(make_api(settings)).ask()[1]["sources"]
    said = call(restart_without(settings), "fetch", id=source["passage_url"].rpartition("/")[2])
    assert said["isError"] and "no knowledge base" in said["content"][0]["text"]
