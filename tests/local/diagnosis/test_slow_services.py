"""Services that answer without end: the doctor gives up after some seconds."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from gleaner_local.diagnosis._model_service import check_model
from gleaner_local.diagnosis._web_search import check_web_search
from gleaner_local.diagnosis.finding import Origin, State

pytestmark = pytest.mark.slow
ORIGIN = Origin(key="THE_KEY", address="THE_ADDRESS", model="THE_MODEL")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"


@pytest.fixture
def dripping() -> Iterator[str]:
    """A server that sends a byte each tenth of a second."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(HEAD)
                with contextlib.suppress(OSError):  # the doctor has closed the connection
                    while not stop.wait(0.1):
                        connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        stop.set()
        thread.join()


def test_a_dripping_model_service_is_given_up(dripping: str) -> None:
    finding = check_model(base_url=f"{dripping}/v1", api_key="k", model="m", origin=ORIGIN)
    assert finding.state is State.PROBLEM
    assert "does not answer" in finding.seen


def test_a_dripping_web_search_is_given_up(dripping: str) -> None:
    assert check_web_search(base_url=dripping, api_key="k", origin=ORIGIN).state is State.PROBLEM
