"""The local server ends connections that send nothing and waits for running requests when it stops."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Router, request_response

from gleaner_local.ports import hold_port
from gleaner_local.servers.asgi import AsgiServer


async def answer_body(request: Request) -> Response:
    return PlainTextResponse(await request.body())


@contextmanager
def running(app: Router, **options: float) -> Iterator[AsgiServer]:
    server = AsgiServer(app, **options)  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nhost: a\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf",
    ],
    ids=["nothing", "half a line", "half the headers", "half a body"],
)
def test_a_connection_that_stops_sending_is_closed(sent: bytes) -> None:
    with running(Router(default=request_response(answer_body)), idle_seconds=0.2) as server:
        address = urlsplit(server.url)
        received = b""
        with (
            socket.create_connection((address.hostname, address.port), timeout=60) as connection,
            suppress(ConnectionResetError, BrokenPipeError),  # where the machine stalls, it is closed before
        ):
            connection.sendall(sent)
            received = connection.recv(1000)
        assert b" 200 " not in received


def test_a_connection_too_many_is_refused_with_a_problem_until_another_one_ends() -> None:
    with running(Router(default=request_response(answer_body)), max_connections=2) as server:
        address = urlsplit(server.url)
        first, second = (socket.create_connection((address.hostname, address.port), timeout=20) for _ in range(2))
        with first, second:
            first.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            assert b" 200 " in first.recv(1000)
            refusal = httpx.get(server.url, timeout=20)
            assert (refusal.status_code, refusal.headers["content-type"]) == (503, "application/problem+json")
            assert refusal.json()["type"] == "urn:gleaner:problem:service-unavailable"
        _wait_for_answer(server.url)


def _wait_for_answer(url: str) -> None:
    """Ask until the server has noticed that connections were closed."""
    for _ in range(1000):
        if httpx.get(url, timeout=20).status_code == 200:
            return
        time.sleep(0.05)
    raise AssertionError("The server still refuses connections.")


def test_a_request_that_is_answered_slowly_is_not_idle() -> None:
    requests: list[Request] = []

    def answer(request: Request) -> Response:
        requests.append(request)
        time.sleep(0.6)
        return PlainTextResponse("late")

    texts: list[str] = []
    with running(Router(default=request_response(answer)), idle_seconds=0.2) as server:
        for _ in range(20):
            if requests:
                break
            with suppress(httpx.TransportError):  # where the machine stalls, the connection is idle before the request
                texts.append(httpx.get(server.url, timeout=60).text)
    assert texts == ["late"]


def test_a_stop_waits_for_running_requests() -> None:
    started = threading.Event()
    proceed = threading.Event()

    def answer(_: Request) -> Response:
        started.set()
        proceed.wait(20)
        return PlainTextResponse("complete")

    texts: list[str] = []
    with running(Router(default=request_response(answer)), stop_seconds=30) as server:
        client = threading.Thread(target=lambda: texts.append(httpx.get(server.url, timeout=20).text))
        client.start()
        started.wait(20)
        stop = threading.Thread(target=server.stop)
        stop.start()
        proceed.set()
        stop.join()
        client.join()
    assert texts == ["complete"]


def test_a_held_port_refuses_connections_until_its_server_starts() -> None:
    held = hold_port(0)
    address = held.getsockname()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    server = AsgiServer(Router(default=request_response(answer_body)), held=held)
    server.start()
    try:
        assert urlsplit(server.url).port == address[1]
        assert httpx.post(server.url, content="hello").text == "hello"
    finally:
        server.stop()


def test_of_two_that_hold_a_port_the_second_to_start_is_refused() -> None:
    held = hold_port(0)
    port = held.getsockname()[1]
    with running(Router(default=request_response(answer_body)), port=port), pytest.raises(OSError, match="in use"):
        AsgiServer(Router(default=request_response(answer_body)), held=held).start()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        hold_port(taken.getsockname()[1])
