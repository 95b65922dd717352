"""`gleaner callers erase`, `gleaner keywords list --doubtful` and `approve`: what they call and print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner, Result

from gleaner_local.commands import program
from gleaner_local.servers.asgi import AsgiServer

ANSWER_ID = "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"
ARN = "iam:arn:aws:iam::111122223333:user/ops"
REPORT = {"caller_id": ARN, "finished": False, "sessions": 2, "tool_calls": 0}
DOUBTFUL = {"perplexity_result_id": ANSWER_ID, "query": "What [bold]is it?", "answer": "It is.\x1b[31m"}
CALLS: list[tuple[str, str]] = []
REPLIES: list[tuple[int, Any]] = []


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    async def answer(request: Request) -> Response:
        CALLS.append((request.method, request.scope["raw_path"].decode()))
        status, body = REPLIES.pop(0)
        headers = {"x-query-id": ANSWER_ID}
        return JSONResponse(body, status, headers) if body else Response(status_code=status, headers=headers)

    server = AsgiServer(Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "DELETE"])]))
    server.start()
    yield server.url
    server.stop()


def run(url: str, *arguments: str, replies: list[tuple[int, Any]], stdin: str = "") -> Result:
    CALLS.clear()
    REPLIES[:] = replies
    return CliRunner().invoke(program.app, [*arguments, "--url", url, "--api-key", "k"], input=stdin)


def test_it_erases_until_everything_is_deleted_and_adds_up(url: str) -> None:
    replies = [(202, REPORT), (200, REPORT | {"finished": True, "sessions": 1})]
    done = run(url, "callers", "erase", ARN, "--yes", replies=replies)
    assert done.exit_code == 0, done.output
    assert CALLS == [("DELETE", "/api/callers/iam:arn:aws:iam::111122223333:user%252Fops")] * 2
    assert f"Erased {ARN}: 3 sessions, 0 tool calls." in done.output
    done = run(url, "callers", "erase", ARN, "--yes", "--json", replies=[(200, REPORT | {"finished": True})])
    assert json.loads(done.output) == REPORT | {"finished": True}


def test_it_asks_before_it_erases(url: str) -> None:
    done = run(url, "callers", "erase", "key:a", replies=[], stdin="n\n")
    assert (done.exit_code, CALLS) == (1, [])


def test_doubtful_answers_are_listed_and_approved(url: str) -> None:
    item = {"doubt_count": 2, "answer": DOUBTFUL}
    done = run(url, "keywords", "list", "--doubtful", replies=[(200, {"answers": [item]})])
    assert CALLS == [("GET", "/api/keywords/answers")]
    assert ANSWER_ID in done.output and "What [bold]is it?" in done.output and "\x1b" not in done.output
    assert "No doubtful" in run(url, "keywords", "list", "--doubtful", replies=[(200, {"answers": []})]).output
    done = run(url, "keywords", "approve", "--answer", ANSWER_ID, replies=[(204, None)])
    assert (done.exit_code, CALLS) == (0, [("DELETE", f"/api/keywords/answers/{ANSWER_ID}/doubts")])
    assert run(url, "keywords", "approve", "--answer", "../x", replies=[]).exit_code == 2
