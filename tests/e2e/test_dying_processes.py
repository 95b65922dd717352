"""Processes of the local service that are killed or stopped: nothing that was answered is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
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
def slow_model(seconds: float) -> Iterator[str]:
    """The local model server, each of whose answers takes this long."""
    app: ASGIApp = openai_server.create_app()

    async def delayed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    server = AsgiServer(delayed)
    server.start()
    try:
        yield f"{server.url}/v1"
    finally:
        server.stop()


def model_at(url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "OPENAI_MODEL": openai_server.MODEL,
        "OPENAI_API": "responses",
    }


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
            time.sleep(1.5)
            running.kill_everything()
            busy.join(60)
    with service(tmp_path / "data") as running:
        for earlier in answered:
            assert earlier["query_id"] in turns(running, earlier["session_id"])
        assert "perplexity_search" not in running.ask().json()["used_tools"]  # the keyword index remembers the answer
    assert len(answered) > 4


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
        [emulator] = running.children("_ministack_keeper")
        os.kill(emulator, signal.SIGKILL)
        reports = [running.health()]
        deadline = time.monotonic() + 60
        while reports[-1][0] != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
            reports.append(running.health())
        assert (503, {"status": "down", "down": ["AWS_ENDPOINT_URL_DYNAMODB"]}) in reports
        assert reports[-1] == (200, {"status": "ok"})
        assert first["query_id"] in turns(running, first["session_id"])
        assert running.ask("And now?", session_id=first["session_id"]).status_code == 200


def test_killed_function_processes_are_replaced_at_once(tmp_path: Path) -> None:
    with service(tmp_path / "data") as running:
        for _ in range(3):
            for pid in running.children("multiprocessing.spawn"):
                os.kill(pid, signal.SIGKILL)
            assert running.ask().status_code == 200


@pytest.mark.parametrize(("seconds", "deadline"), [(2.0, 30), (60.0, 6)], ids=["answered", "past its deadline"])
def test_sigterm_lets_running_questions_end(tmp_path: Path, seconds: float, deadline: int) -> None:
    options = ("--deadline", str(deadline))
    with slow_model(seconds) as url, service(tmp_path / "data", *options, **model_at(url)) as running:
        responses: list[httpx.Response] = []
        clients = [threading.Thread(target=lambda: responses.append(running.ask())) for _ in range(2)]
        for client in clients:
            client.start()
        time.sleep(1.5)
        assert running.stop() == 0
        for client in clients:
            client.join(60)
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
            client.join(120)
        assert len(responses) == 20
        assert {response.status_code for response in responses} <= {200, 503}
        assert all("json" in response.headers["content-type"] for response in responses)
        assert running.ask().status_code == 200
