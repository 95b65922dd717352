"""The local gateway and its execution environments stream a response as the handler writes it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gleaner.runtime.integration_response import MAX_METADATA_BYTES
from gleaner_local.aws import _streamed_response, api_gateway
from gleaner_local.aws.execution_environment import Deliver, ExecutionEnvironments, HandlerFailed, HandlerTooSlow
from gleaner_local.servers.asgi import AsgiServer

HANDLER = "tests.doubles.streamed_function.handler.lambda_handler"
SSE = {"Content-Type": ["text/event-stream"], "X-Many": ["a", "b"]}
START = ("start", [200, SSE])
PATHS = ("/api/chat/stream", "/api/sessions/01J/chat/stream")
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExecutionEnvironments]:
    log_path = tmp_path_factory.mktemp("environments") / "log"
    env = {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner", "PATH": os.environ["PATH"]}
    environments = ExecutionEnvironments(HANDLER, env, log_path=log_path, timeout_seconds=60, concurrency=1)
    yield environments
    environments.stop()


@pytest.fixture(scope="module")
def client(environments: ExecutionEnvironments) -> Iterator[httpx.Client]:
    server = AsgiServer(api_gateway.create_app(environments.invoke, environments.invoke_streamed))
    server.start()
    with httpx.Client(base_url=server.url, timeout=WAIT_SECONDS) as http:
        yield http
    server.stop()


def body(*steps: tuple[str, Any]) -> str:
    return json.dumps(steps)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def send_request(client: httpx.Client, content: str) -> socket.socket:
    """A connection that has sent a question, of which nothing was read yet."""
    url = client.base_url
    connection = socket.create_connection((url.host, url.port or 80))
    head = f"POST {PATHS[0]} HTTP/1.1\r\nHost: {url.host}\r\nContent-Length: {len(content)}\r\n\r\n"
    connection.sendall((head + content).encode())
    return connection


@pytest.mark.parametrize("path", PATHS)
def test_pieces_arrive_as_they_are_written(client: httpx.Client, tmp_path: Path, path: str) -> None:
    gate = tmp_path / "gate"
    steps = (START, ("write", "one"), ("wait", str(gate)), ("write", "zwö"))
    with client.stream("POST", path, content=body(*steps)) as response:
        pieces = response.iter_raw()
        assert next(pieces) == b"one"
        gate.touch()  # the function goes on only now
        assert b"".join(pieces).decode() == "zwö"
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
    assert response.headers.get_list("x-many") == ["a", "b"]
    assert response.headers["transfer-encoding"] == "chunked"


def test_a_plain_answer_has_its_own_status(client: httpx.Client) -> None:
    answer = {"statusCode": 400, "multiValueHeaders": {"X-Query-Id": ["q"]}, "body": "wrong"}
    response = client.post(PATHS[0], content=body(("return", answer)))
    assert (response.status_code, response.headers["x-query-id"], response.text) == (400, "q", "wrong")


def test_a_response_without_a_body_has_its_status(client: httpx.Client) -> None:
    response = client.post(PATHS[0], content=body(("start", [201, SSE])))
    assert (response.status_code, response.headers["content-type"], response.text) == (201, "text/event-stream", "")


def test_other_methods_and_paths_are_not_streamed(client: httpx.Client) -> None:
    for method, path in (("PUT", PATHS[0]), ("POST", f"{PATHS[0]}/"), ("POST", "/api/chat/query")):
        response = client.request(method, path, content=body(("describe", None)))
        assert json.loads(response.text)["stream"] is False
        assert "transfer-encoding" not in response.headers


@pytest.mark.parametrize("steps", [(), (START,)], ids=["nothing", "the metadata"])
def test_an_error_before_the_first_piece_is_a_problem(client: httpx.Client, steps: tuple[Any, ...]) -> None:
    response = client.post(PATHS[0], content=body(*steps, ("raise", "secret")))
    assert (response.status_code, response.headers["content-type"]) == (502, "application/problem+json")
    assert "secret" not in response.text


def test_an_error_after_the_first_byte_cuts_the_response(client: httpx.Client) -> None:
    with (
        pytest.raises(httpx.RemoteProtocolError),
        client.stream("POST", PATHS[0], content=body(START, ("write", "one"), ("raise", "secret"))) as response,
    ):
        assert response.status_code == 200
        response.read()
    assert client.post(PATHS[0], content=body(START, ("write", "next"))).text == "next"


def test_a_function_whose_client_went_is_told_and_runs_to_its_end(client: httpx.Client, tmp_path: Path) -> None:
    gate, note = tmp_path / "gate", tmp_path / "note"
    steps = body(START, ("write", "one"), ("wait", str(gate)), ("write often", ["x" * 1000, 50]), ("note", str(note)))
    with client.stream("POST", PATHS[0], content=steps) as response:
        assert next(response.iter_raw()) == b"one"
    gate.touch()
    assert client.post(PATHS[0], content=body(START, ("write", "next"))).text == "next"
    assert 0 < int(note.read_text()) <= 50


def test_a_function_waits_while_its_client_does_not_read(client: httpx.Client, tmp_path: Path) -> None:
    note, size, count = tmp_path / "note", 100_000, 200
    with send_request(client, body(START, ("write often", ["#" * size, count]), ("note", str(note)))) as connection:
        time.sleep(0.3)
        assert not note.exists()  # the pieces do not pile up on their way
        received = bytearray()
        while not received.endswith(b"0\r\n\r\n"):
            piece = connection.recv(1 << 20)
            assert piece, f"cut off after {len(received):,} bytes"
            received += piece
    assert received.count(b"#") == size * count
    wait_until(note.exists)
    assert note.read_text() == "0"


def test_a_client_that_never_reads_counts_as_gone(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_streamed_response, "STALLED_SECONDS", 0.2)
    note = tmp_path / "note"
    with send_request(client, body(START, ("write often", ["x" * 100_000, 200]), ("note", str(note)))):
        wait_until(note.exists)
    assert int(note.read_text()) > 0


@pytest.mark.parametrize("head", [b"{", b"x" * (MAX_METADATA_BYTES + 1)], ids=["unfinished", "too long"])
def test_a_response_without_metadata_is_a_failure(head: bytes) -> None:
    taken = []

    async def invoke_streamed(_event: dict[str, Any], _request_id: str, deliver: Deliver) -> None:
        taken.append(await deliver(head))

    server = AsgiServer(api_gateway.create_app(lambda _event, _id: {}, invoke_streamed))
    server.start()
    try:
        response = httpx.post(server.url + PATHS[0])
    finally:
        server.stop()
    assert response.status_code == 502
    assert taken == [len(head) <= MAX_METADATA_BYTES]


def test_a_process_that_dies_while_it_streams_fails_the_invocation(environments: ExecutionEnvironments) -> None:
    event = {"httpMethod": "POST", "resource": PATHS[0], "body": body(START, ("write", "one"), ("exit", 1))}
    pieces: list[bytes] = []

    async def deliver(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    with pytest.raises(HandlerFailed):
        asyncio.run(environments.invoke_streamed(event, "request", deliver))
    assert pieces[-1].endswith(b"one")
    asyncio.run(environments.invoke_streamed(event | {"body": body(START, ("write", "next"))}, "request", deliver))
    assert pieces[-1].endswith(b"next")


def test_a_process_that_is_too_slow_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner", "PATH": os.environ["PATH"]}
    environments = ExecutionEnvironments(
        HANDLER, env, log_path=tmp_path / "log", timeout_seconds=60, streamed_timeout_seconds=0.5, concurrency=1
    )
    event = {"httpMethod": "POST", "resource": PATHS[0]}
    pieces: list[bytes] = []

    async def deliver(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    steps = body(START, ("write", "one"), ("wait", str(tmp_path / "gate")))
    for _ in range(20):
        with pytest.raises(HandlerTooSlow):
            asyncio.run(environments.invoke_streamed(event | {"body": steps}, "request", deliver))
        if pieces:  # a machine that stalls may use up the time before the first piece
            break
    assert pieces[-1].endswith(b"one")
    monkeypatch.setattr(environments, "_streamed_timeout_seconds", 60)
    asyncio.run(environments.invoke_streamed(event | {"body": body(START, ("write", "next"))}, "request", deliver))
    assert pieces[-1].endswith(b"next")  # by another process
    environments.stop()


def test_threads_write_whole_pieces(client: httpx.Client) -> None:
    response = client.post(PATHS[0], content=body(START, ("write at once", ["a" * 500, "b" * 500])))
    assert {response.text[i : i + 500] for i in range(0, len(response.text), 500)} == {"a" * 500, "b" * 500}
