"""Processes of the local service that are killed or stopped: nothing that was answered is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from gleaner_local.servers import openai_server
from gleaner_local.servers.asgi import AsgiServer
from tests.e2e.service_process import Service, service

pytestmark = pytest.mark.slow


@contextmanager
def slow_model(seconds: float) -> Iterator[tuple[str, list[str]]]:
    """The local model server, each of whose answers takes this long, and the paths that it was asked for."""
    app: ASGIApp = openai_server.create_app()
    asked: list[str] = []

    async def delayed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            asked.append(scope["path"])
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    server = AsgiServer(delayed)
    server.start()
    try:
        yield f"{server.url}/v1", asked
    finally:
        server.stop()


def model_at(url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "OPENAI_MODEL": openai_server.MODEL,
        "OPENAI_API": "responses",
    }


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def turns(running: Service, session: str) -> str:
    response = httpx.get(f"{running.url}/api/sessions/{session}/messages", timeout=30)
    assert response.status_code == 200, response.text
    return response.text


def test_what_was_answered_is_there_after_everything_was_killed(tmp_path: Path) -> None:
    answered: list[dict[str, Any]] = []
    for _ in range(2):
        with service(tmp_path / "data") as running:
            for earlier in answered:
                assert earlier["query_id"] in turns(running, earlier["session_id"])
            answered.append(running.ask().json())
            busy = threading.Thread(target=_ask_until_it_dies, args=(running, answered), daemon=True)
            busy.start()
            enough = len(answered) + 3
            wait_until(lambda: len(answered) >= enough)  # noqa: B023 - called within the loop
            running.kill_everything()
            busy.join(200)
    with service(tmp_path / "data") as running:
        for earlier in answered:
            assert earlier["query_id"] in turns(running, earlier["session_id"])
        assert "perplexity_search" not in running.ask().json()["used_tools"]  # the keyword index remembers the answer


def _ask_until_it_dies(running: Service, answered: list[dict[str, Any]]) -> None:
    while True:
        try:
            response = running.ask("How are duplicate keywords merged?")
        except httpx.HTTPError:
            return
        if response.status_code == 200:
            answered.append(response.json())


def test_a_killed_emulator_is_replaced_and_meanwhile_reported(tmp_path: Path) -> None:
    with service(tmp_path / "data") as running:
        first = running.ask().json()
        assert kill_emulator(running) == (503, {"status": "down", "down": ["AWS_ENDPOINT_URL_DYNAMODB"]})
        wait_until(lambda: running.health() == (200, {"status": "ok"}))
        assert first["query_id"] in turns(running, first["session_id"])
        assert running.ask("And now?", session_id=first["session_id"]).status_code == 200


def kill_emulator(running: Service) -> tuple[int, Any]:
    """Kill it, and return what is reported: if the machine stalls, the next one may be there before."""
    report: tuple[int, Any] = (0, None)
    for _ in range(5):
        wait_until(lambda: len(running.children("_ministack_keeper")) == 1)
        [emulator] = running.children("_ministack_keeper")
        os.kill(emulator, signal.SIGKILL)
        report = running.health()
        if report[0] != 200:
            break
    return report


def test_killed_function_processes_are_replaced_at_once(tmp_path: Path) -> None:
    with service(tmp_path / "data") as running:
        for _ in range(3):
            for pid in running.children("multiprocessing.spawn"):
                os.kill(pid, signal.SIGKILL)
            assert running.ask().status_code == 200


@pytest.mark.parametrize(("seconds", "deadline"), [(2.0, 30), (60.0, 6)], ids=["answered", "past its deadline"])
def test_sigterm_lets_running_questions_end(tmp_path: Path, seconds: float, deadline: int) -> None:
    options = ("--deadline", str(deadline))
    with slow_model(seconds) as (url, asked), service(tmp_path / "data", *options, **model_at(url)) as running:
        asked.clear()  # the service looks for its model when it starts
        responses: list[httpx.Response] = []
        clients = [threading.Thread(target=lambda: responses.append(running.ask())) for _ in range(2)]
        for client in clients:
            client.start()
        wait_until(lambda: len(asked) >= 2 or bool(responses))
        assert running.stop() == 0
        for client in clients:
            client.join(180)
        assert len(responses) == 2
        for response in responses:
            if seconds < deadline:
                assert response.status_code == 200, response.text
            else:
                assert response.status_code in (503, 504)
                assert response.json()["type"].startswith("urn:gleaner:problem:")


def test_64_open_files_lead_to_a_clear_refusal(tmp_path: Path) -> None:
    responses: list[httpx.Response] = []
    with service(tmp_path / "data", files=64) as running:
        clients = [threading.Thread(target=lambda: responses.append(running.ask())) for _ in range(20)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(300)
        assert len(responses) == 20
        assert {response.status_code for response in responses} <= {200, 503}
        assert all("json" in response.headers["content-type"] for response in responses)
        assert running.ask().status_code == 200
