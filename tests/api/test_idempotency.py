"""Idempotency keys on the chat routes."""

from __future__ import annotations

import base64
import json
import threading
import time
import zlib
from typing import Any, NoReturn

import pytest

from gleaner.api import problems
from gleaner.api._caller import Caller
from gleaner.api.idempotency import IdempotentRunner
from gleaner.api.request import RequestContext
from gleaner.api.schemas import ChatQuery
from gleaner.errors import RequestInProgress
from gleaner.runtime.deadline import Deadline
from gleaner.stores import dynamodb
from gleaner_local.aws import ministack
from gleaner_local.aws.execution_environment import LocalContext
from tests.conftest import Client, make_api, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb

CHAT = "/api/chat/query"


def send(
    client: Client, key: str, query: str = "How are duplicates merged?", *, fresh: bool | None = None, **how: Any
) -> tuple[int, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    multi_value = {name: [value] for name, value in headers.items()}
    body = {"query": query} | ({} if fresh is None else {"fresh": fresh})
    return client.post(CHAT, body, headers=headers, multiValueHeaders=multi_value, **how)


def plays(model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))


def test_the_same_request_gets_the_first_answer_and_costs_no_model_call(
    client: Client, model: ScriptedModel, items: Any
) -> None:
    plays(model)
    first = send(client, "key-1")
    item_count = len(items("CONVERSATIONS_TABLE"))
    again = send(client, "key-1")
    assert first == again and first[0] == 200
    assert len(model.requests) == 2
    assert len(items("CONVERSATIONS_TABLE")) == item_count


def test_a_replayed_answer_says_so(settings: dict[str, str], model: ScriptedModel) -> None:
    client = Client(make_api(settings | {"CORS_ORIGINS": "https://app.example.org"}))
    plays(model)
    headers = {"content-type": "application/json", "idempotency-key": "key-1", "origin": "https://app.example.org"}
    event = proxy_event("POST", CHAT, "local") | {
        "body": json.dumps({"query": "x"}),
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
    }
    first, again = [client.send(dict(event))["multiValueHeaders"] for _ in range(2)]
    assert (first.get("Idempotent-Replayed"), again["Idempotent-Replayed"]) == (None, ["true"])
    assert "Idempotent-Replayed" in str(first["Access-Control-Expose-Headers"])


@pytest.mark.parametrize("path", [CHAT, "/api/sessions/{}/chat"])
def test_a_fallback_answer_is_not_kept(client: Client, model: ScriptedModel, web: ScriptedWeb, path: str) -> None:
    _, session = client.post("/api/sessions", {})
    headers = {"content-type": "application/json", "Idempotency-Key": "k"}

    def ask() -> tuple[int, Any]:
        multi_value = {name: [value] for name, value in headers.items()}
        path_of_session = path.format(session["session_id"])
        return client.post(path_of_session, {"query": "x"}, headers=headers, multiValueHeaders=multi_value)

    web.fails(500)
    model.plays(calls(search()), calls(web_search()), calls(answer()))
    assert ask()[0] == 200
    plays(model)
    assert ask()[0] == 200 and len(model.requests) == 2
    assert ask()[0] == 200 and len(model.requests) == 2  # the second answer is kept


def test_a_fresh_question_is_asked_past_the_record(client: Client, model: ScriptedModel) -> None:
    plays(model)
    first = send(client, "key-1")
    plays(model)
    fresh = send(client, "key-1", fresh=True)
    assert fresh[0] == 200 and fresh != first and len(model.requests) == 2
    assert send(client, "key-1") == first


def test_a_turn_in_a_session_is_made_once(client: Client, model: ScriptedModel) -> None:
    _, session = client.post("/api/sessions", {})
    path = f"/api/sessions/{session['session_id']}/chat"
    headers = {"content-type": "application/json", "Idempotency-Key": "k"}
    multi_value = {name: [value] for name, value in headers.items()}
    plays(model)
    answers = [client.post(path, {"query": "x"}, headers=headers, multiValueHeaders=multi_value) for _ in range(2)]
    assert answers[0] == answers[1] and answers[0][0] == 200
    assert client.request("GET", f"/api/sessions/{session['session_id']}")[1]["message_count"] == 2


def test_another_body_is_refused(client: Client, model: ScriptedModel) -> None:
    plays(model)
    send(client, "key-1")
    status, problem = send(client, "key-1", "Another question?")
    assert (status, problem["type"]) == (422, "urn:gleaner:problem:idempotency-key-reused")


def test_keys_are_scoped_to_the_caller(client: Client, model: ScriptedModel) -> None:
    plays(model)
    _, mine = send(client, "key-1")
    plays(model)
    status, theirs = send(client, "key-1", "Another question?", caller="somebody")
    assert status == 200 and theirs["query_id"] != mine["query_id"]


def test_an_error_is_not_stored(client: Client, model: ScriptedModel) -> None:
    model.plays(says("No tool."))
    assert send(client, "key-1")[0] == 502
    plays(model)
    assert send(client, "key-1")[0] == 200


def test_a_request_still_in_progress_is_a_conflict(
    client: Client, settings: dict[str, str], model: ScriptedModel
) -> None:
    is_asked, may_continue = threading.Event(), threading.Event()

    def slow(request: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        assert may_continue.wait(20)
        return calls(search()) if len(request["tools"]) == 1 else calls(answer())

    model.plays(slow)
    first: list[tuple[int, Any]] = []
    # As in Lambda, an environment serves one request at a time: the second request goes to another environment, which
    # has its own current event.
    thread = threading.Thread(target=lambda: first.append(send(client, "key-1")))
    thread.start()
    assert is_asked.wait(20)
    runner = IdempotentRunner(
        dynamodb.connect(endpoint_url=settings["AWS_ENDPOINT_URL_DYNAMODB"]), settings["IDEMPOTENCY_TABLE"]
    )
    with pytest.raises(RequestInProgress):
        repeat(runner, "key-1")
    may_continue.set()
    thread.join(30)
    assert first[0][0] == 200


def test_a_conflict_says_when_to_try_again() -> None:
    response = problems.from_error(RequestInProgress("The first request is still running."), query_id="Q")
    assert response.status_code == 409
    assert int(str(response.headers["Retry-After"])) > 0


def repeat(runner: IdempotentRunner, key: str) -> NoReturn:
    """Run the same request as another environment would."""
    context: Any = LocalContext("query", "r2", time.monotonic() + 30)
    request = RequestContext(
        query_id="Q",
        request_id="R",
        caller=Caller(id="key:local"),
        deadline=Deadline.after(20),
        lambda_context=context,
    )

    def never() -> NoReturn:
        raise AssertionError("the request was run twice")

    body = ChatQuery(query="How are duplicates merged?")
    runner.run(key, request, CHAT, body, never, lambda _stored: None)
    raise AssertionError("a request that was not run has an answer")


def test_a_crashed_attempt_is_taken_over_when_its_time_is_up(
    client: Client, settings: dict[str, str], model: ScriptedModel
) -> None:
    plays(model)
    assert send(client, "key-1")[0] == 200
    # A crashed process leaves a record that is in progress although its time is up.
    store = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    [record] = store.scan(TableName=settings["IDEMPOTENCY_TABLE"])["Items"]
    store.update_item(
        TableName=settings["IDEMPOTENCY_TABLE"],
        Key={"id": record["id"]},
        UpdateExpression="SET #s = :s, in_progress_expiration = :past REMOVE #d",
        ExpressionAttributeNames={"#s": "status", "#d": "data"},
        ExpressionAttributeValues={":s": {"S": "INPROGRESS"}, ":past": {"N": str(int(time.time() * 1000) - 1000)}},
    )
    plays(model)
    assert send(client, "key-1")[0] == 200
    assert len(model.requests) == 2


@pytest.mark.parametrize("path", [CHAT, "/api/sessions/{}/chat"])
def test_the_answer_of_a_deleted_session_is_not_replayed(client: Client, model: ScriptedModel, path: str) -> None:
    session_id = client.post("/api/sessions", {})[1]["session_id"]
    path, body = path.format(session_id), {"query": "x"} | ({"session_id": session_id} if path == CHAT else {})
    headers = {"content-type": "application/json", "Idempotency-Key": "k"}
    plays(model)
    assert client.post(path, body, headers=headers, multiValueHeaders=None)[0] == 200
    client.request("DELETE", f"/api/sessions/{session_id}")
    status, problem = client.post(path, body, headers=headers, multiValueHeaders=None)
    assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-session")
    assert len(model.requests) == 2


def test_the_answer_is_not_replayed_if_the_session_it_created_was_deleted(client: Client, model: ScriptedModel) -> None:
    plays(model)
    session_id = send(client, "key-1")[1]["session_id"]
    client.request("DELETE", f"/api/sessions/{session_id}")
    assert send(client, "key-1")[0] == 404
    plays(model)
    assert send(client, "key-2")[0] == 200


def test_an_answer_stored_by_an_earlier_version_is_replayed_unchanged(
    client: Client, settings: dict[str, str], model: ScriptedModel
) -> None:
    plays(model)
    _, first = send(client, "key-1")
    store = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    [record] = store.scan(TableName=settings["IDEMPOTENCY_TABLE"])["Items"]
    packed = json.loads(record["data"]["S"])["packed"]
    older = json.loads(zlib.decompress(base64.b64decode(packed)))
    del older["cost"], older["sources"][0]["support"]
    older |= {"status": "a removed status"}
    packed = base64.b64encode(zlib.compress(json.dumps(older).encode())).decode()
    store.update_item(
        TableName=settings["IDEMPOTENCY_TABLE"],
        Key={"id": record["id"]},
        UpdateExpression="SET #d = :d",
        ExpressionAttributeNames={"#d": "data"},
        ExpressionAttributeValues={":d": {"S": json.dumps({"packed": packed})}},
    )
    event = proxy_event("POST", CHAT, "local") | {"body": json.dumps({"query": "How are duplicates merged?"})}
    event["headers"] = {"content-type": "application/json", "idempotency-key": "key-1"}
    event["multiValueHeaders"] = None
    context: Any = LocalContext("query", "r", time.monotonic() + 30)
    replay = client.api.handle(event, context)  # bypasses the check for the fields of this version
    assert (replay["statusCode"], replay["multiValueHeaders"]["Content-Type"]) == (200, ["application/json"])
    assert json.loads(replay["body"]) == older != first


def test_a_long_answer_is_stored_completely(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("Clefs: " + "𝄞" * 99_000 + " [kb-1]")))
    first = send(client, "key-1")
    assert first[0] == 200 and len(first[1]["answer"]) > 99_000
    assert send(client, "key-1") == first


@pytest.mark.parametrize("key", ["x" * 256, "ä", "a b"])
def test_a_bad_key_is_refused(client: Client, key: str) -> None:
    status, problem = send(client, key)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
