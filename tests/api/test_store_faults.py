"""DynamoDB throttled, conflicting, failing or down at any single write leaves no incomplete turn or keyword."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import count
from threading import Timer
from typing import Any

import pytest

from gleaner_local.aws import ministack
from tests.conftest import Client, make_api
from tests.doubles.faulty_store import Choose, FaultyStore, How
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.turns import TurnChecks

pytestmark = pytest.mark.slow

CHAT = "/api/chat/query"
PROBLEMS = {"store-unavailable": 503, "deadline-exceeded": 504}
BLIPS: tuple[How, ...] = ("throttled", "conflict", "error", "page", "down", "lost")
# The writes of a question with a web answer, roughly in order: key, four tool calls, keywords, turn, key.
WRITES = range(1, 9)
OUTAGE_SECONDS = 1.0
DEADLINE_SECONDS = 25  # the default
QUESTION_SECONDS = "3"  # so that a permanent fault is given up soon; too short where an answer must follow
_keys = count()


@pytest.fixture(scope="module")
def faulty(environment: dict[str, str]) -> Iterator[FaultyStore]:
    store = FaultyStore(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    store.start()
    yield store
    store.stop()


@pytest.fixture(scope="module")
def client(environment: dict[str, str], faulty: FaultyStore) -> Client:
    return Client(make_api(environment | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}))


@pytest.fixture(scope="module")
def impatient(environment: dict[str, str], faulty: FaultyStore) -> Client:
    changes = {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url, "QUERY_DEADLINE_SECONDS": QUESTION_SECONDS}
    client = Client(make_api(environment | changes))
    client.request("GET", "/api/sessions")  # the set-up of a first request must not count against a question's time
    return client


@pytest.fixture
def turns(stored_turns: TurnChecks, faulty: FaultyStore, model: ScriptedModel, web: ScriptedWeb) -> TurnChecks:
    """The stored turns, with a scripted question that searches the web and a store without faults."""
    faulty.heals()
    web.finds("Starlette 1.0 was released in 2026 [1].", result(1, "https://starlette.dev/release", "Release notes"))
    model.plays(play)
    stored_turns.new()
    return stored_turns


def play(request: dict[str, Any]) -> dict[str, Any]:
    """The next turn of a question that searches the web if it is offered, on any attempt."""
    offered = {tool["function"]["name"] for tool in request["tools"]}
    called = [call["function"]["name"] for message in request["messages"] for call in message.get("tool_calls", ())]
    if "knowledge_base_search" not in called:
        return calls(search("merging keywords"))
    if "perplexity_search" in offered and "perplexity_search" not in called:
        return calls(("perplexity_search", {"query": "starlette release"}))
    if "index_keywords" in offered:
        topic = str(request["messages"][1]["content"])
        return calls(index(f"Starlette {topic}"), answer("In 2026. [web-1]", ("web-1",)))
    return calls(answer())


def ask(client: Client, key: str) -> tuple[int, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    many = {name: [value] for name, value in headers.items()}
    return client.post(CHAT, {"query": f"release {key}"}, headers=headers, multiValueHeaders=many)


def a_key() -> str:
    return f"key{next(_keys)}"


def require_end(status: int, body: Any) -> None:
    """Require an answer, or a typed problem that reveals nothing internal."""
    if status != 200:
        assert status == PROBLEMS[body["type"].removeprefix("urn:gleaner:problem:")], body
    assert not any(word in json.dumps(body) for word in ("secret", "Traceback", "botocore"))


@pytest.mark.parametrize("how", BLIPS)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_once_is_retried(
    client: Client, faulty: FaultyStore, turns: TurnChecks, how: How, write: int
) -> None:
    key = a_key()
    faulty.fails(how, lambda _, number: number == write)
    status, body = ask(client, key)
    assert faulty.fault_count == 1
    assert (status, body["status"], body["keyword_count"]) == (200, "success", 1), body
    assert turns.new() == 1
    assert ask(client, key) == (200, body)
    assert turns.new() == 0


@pytest.mark.parametrize("how", ["throttled", "down", "page"])
@pytest.mark.parametrize("write", WRITES)
def test_a_store_that_stays_down_from_any_write_on_leaves_no_incomplete_turn(
    client: Client,
    impatient: Client,
    environment: dict[str, str],
    faulty: FaultyStore,
    turns: TurnChecks,
    how: How,
    write: int,
) -> None:
    key = a_key()
    faulty.fails(how, lambda _, number: number >= write)
    status, body = ask(impatient, key)
    require_end(status, body)
    first = turns.new()
    assert first == (status == 200)
    faulty.heals()
    turns.assert_turns_complete()
    again = ask(client, key)
    if again[1].get("type") == "urn:gleaner:problem:request-in-progress":
        expire_first_attempt(environment)  # its record stays in progress until the function would have timed out
        again = ask(client, key) if not first else (200, body)
    assert again[0] == 200
    # A fallback answer is not stored under its key, so that the repeated question is asked anew.
    expected = {1, 2} if first and body["status"] == "fallback" else {1}
    assert first + turns.new() in expected


def expire_first_attempt(environment: dict[str, str]) -> None:
    """Expire the records in progress, as after the timeout of their function."""
    store = ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    for record in store.scan(TableName=environment["IDEMPOTENCY_TABLE"])["Items"]:
        if record["status"]["S"] == "INPROGRESS":
            store.update_item(
                TableName=environment["IDEMPOTENCY_TABLE"],
                Key={"id": record["id"]},
                UpdateExpression="SET in_progress_expiration = :past",
                ExpressionAttributeValues={":past": {"N": str(int(time.time() * 1000) - 1000)}},
            )


def writes_to(name: str) -> Choose:
    return lambda call, _: call.is_write and name in call.tables


def reads_of(name: str) -> Choose:
    return lambda call, _: not call.is_write and name in call.tables


@pytest.mark.parametrize("how", ["throttled", "error", "down"])
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("KEYWORDS_TABLE", "fallback"),
        ("TOOL_CALLS_TABLE", "success"),
        ("USAGE_TABLE", "success"),  # without a limit
    ],
)
def test_a_table_that_rejects_writes_does_not_cost_the_answer(
    client: Client,
    environment: dict[str, str],
    faulty: FaultyStore,
    turns: TurnChecks,
    how: How,
    table: str,
    expected: str,
) -> None:
    key = a_key()
    faulty.fails(how, writes_to(environment[table]))
    status, body = ask(client, key)
    assert (status, body["status"]) == (200, expected), body
    assert turns.new() == 1
    faulty.heals()
    status, again = ask(client, key)
    assert (status, again["status"]) == (200, "success"), again
    assert turns.new() == (expected == "fallback")  # it is not stored under its key


@pytest.mark.parametrize("how", ["throttled", "error", "down"])
@pytest.mark.parametrize(("table", "expected"), [("CONVERSATIONS_TABLE", {503, 504}), ("IDEMPOTENCY_TABLE", {503})])
def test_a_table_that_must_be_written_and_rejects_it_is_a_problem(
    client: Client,
    impatient: Client,
    environment: dict[str, str],
    faulty: FaultyStore,
    turns: TurnChecks,
    how: How,
    table: str,
    expected: set[int],
) -> None:
    key = a_key()
    faulty.fails(how, writes_to(environment[table]))
    status, body = ask(impatient, key)
    require_end(status, body)
    assert status in expected, body
    assert turns.new() == 0
    faulty.heals()
    assert ask(client, key)[0] == 200
    assert turns.new() == 1


@pytest.mark.parametrize("how", ["throttled", "error", "down"])
def test_unreadable_keywords_only_cost_the_stored_web_answers(
    client: Client,
    environment: dict[str, str],
    faulty: FaultyStore,
    turns: TurnChecks,
    model: ScriptedModel,
    how: How,
) -> None:
    model.plays(calls(search()), calls(answer()))
    faulty.fails(how, reads_of(environment["KEYWORDS_TABLE"]))
    status, body = client.ask()
    assert (status, body["status"], body["answer"]) == (200, "fallback", "Merged. [kb-1]")
    assert turns.new() == 1


@pytest.mark.parametrize("how", ["throttled", "error", "down"])
def test_an_unreadable_session_is_a_problem(
    client: Client,
    impatient: Client,
    environment: dict[str, str],
    faulty: FaultyStore,
    turns: TurnChecks,
    model: ScriptedModel,
    how: How,
) -> None:
    model.plays(calls(search()), calls(answer()))
    _, first = client.ask()
    assert turns.new() == 1
    request_count = len(model.requests)
    faulty.fails(how, reads_of(environment["CONVERSATIONS_TABLE"]))
    status, body = impatient.ask(session_id=first["session_id"])
    require_end(status, body)
    assert status in (503, 504)
    assert len(model.requests) == request_count  # nothing was paid for
    assert turns.new() == 0


@pytest.mark.parametrize("how", ["throttled", "lost"])
@pytest.mark.parametrize("write", range(1, 5))
def test_a_turn_in_a_session_is_added_once(
    client: Client, faulty: FaultyStore, turns: TurnChecks, model: ScriptedModel, how: How, write: int
) -> None:
    model.plays(calls(search()), calls(answer()))
    _, session = client.post("/api/sessions", {})
    faulty.fails(how, lambda _, number: number == write)
    status, _ = client.post(f"/api/sessions/{session['session_id']}/chat", {"query": "x"})
    assert (status, turns.new()) == (200, 1)
    assert client.request("GET", f"/api/sessions/{session['session_id']}")[1]["message_count"] == 2


@pytest.fixture
def unreachable(environment: dict[str, str]) -> Iterator[FaultyStore]:
    """A store that refuses connections until it is started, then works."""
    store = FaultyStore(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    yield store
    store.stop()


@pytest.mark.parametrize("with_key", [True, False])
def test_a_question_outlasts_a_short_outage_of_the_store(
    environment: dict[str, str], unreachable: FaultyStore, turns: TurnChecks, with_key: bool
) -> None:
    client = Client(make_api(environment | {"AWS_ENDPOINT_URL_DYNAMODB": unreachable.url}))
    restart = Timer(OUTAGE_SECONDS, unreachable.start)
    restart.start()
    status, body = ask(client, a_key()) if with_key else client.ask("release without a key")
    restart.join()
    assert (status, body["status"]) == (200, "success"), body
    assert turns.new() == 1


def test_a_store_that_refuses_connections_is_a_problem_long_before_the_deadline(
    environment: dict[str, str], unreachable: FaultyStore, turns: TurnChecks, model: ScriptedModel
) -> None:
    client = Client(make_api(environment | {"AWS_ENDPOINT_URL_DYNAMODB": unreachable.url}))
    started_at = time.monotonic()
    status, body = client.ask()
    question_seconds = time.monotonic() - started_at
    require_end(status, body)
    assert (status, turns.new()) == (503, 0)
    model.requests.clear()
    started_at = time.monotonic()
    require_end(*ask(client, a_key()))
    key_seconds = time.monotonic() - started_at
    assert model.requests == []  # no question is processed without the record of its key
    assert max(question_seconds, key_seconds) < DEADLINE_SECONDS - 8


@pytest.mark.parametrize("path", ["/api/usage", "/api/sessions", "/api/keywords", "/api/documents", "/v1/models"])
def test_a_store_that_hangs_is_a_problem_and_not_waited_for_until_the_deadline(
    environment: dict[str, str], faulty: FaultyStore, path: str
) -> None:
    client = Client(make_api(environment | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}))
    faulty.fails("hangs", lambda *_: True)
    status, _ = client.request("GET", path)
    assert status == 503
    assert faulty.fault_count <= 2 * len({call.tables for call in faulty.calls})  # each asked for again once
