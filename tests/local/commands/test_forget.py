"""`gleaner keywords forget`: what it calls and prints."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner

from gleaner_local.commands import program
from gleaner_local.servers.asgi import AsgiServer

ANSWER_ID = "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"
REPORT = {
    "answer_id": ANSWER_ID,
    "kb_id": "default_kb",
    "forgotten_at": "2026-11-28T10:00:00.000000+00:00",
    "barred_until": "2027-02-26T10:00:00.000000+00:00",
    "keyword_count": 2,
    "pages": ["https://q.example/[bold]a"],
}
CALLS: list[tuple[str, str, str | None]] = []


@pytest.fixture
def url() -> Iterator[str]:
    async def answer(request: Request) -> Response:
        CALLS.append((request.method, request.url.path, request.headers.get("x-api-key")))
        return JSONResponse(REPORT, headers={"x-query-id": ANSWER_ID})

    CALLS.clear()
    server = AsgiServer(Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "DELETE"])]))
    server.start()
    yield server.url
    server.stop()


def test_it_forgets_the_answer_and_names_its_pages(url: str) -> None:
    run = CliRunner().invoke(program.app, ["keywords", "forget", "--answer", ANSWER_ID, "--url", url, "--api-key", "k"])
    assert run.exit_code == 0, run.output
    assert [("DELETE", f"/api/keywords/answers/{ANSWER_ID}", "k")] == CALLS
    assert "2 keywords" in run.output and "2027-02-26" in run.output
    assert "https://q.example/[bold]a" in run.output.splitlines()[2]


def test_json_is_the_report(url: str) -> None:
    run = CliRunner().invoke(program.app, ["keywords", "forget", "--answer", ANSWER_ID, "--url", url, "--json"])
    assert json.loads(run.output) == REPORT


@pytest.mark.parametrize("answer_id", ["../prune", "", "a b", "ä"])
def test_what_is_no_id_is_refused(url: str, answer_id: str) -> None:
    run = CliRunner().invoke(program.app, ["keywords", "forget", "--answer", answer_id, "--url", url])
    assert (run.exit_code, CALLS) == (2, [])
