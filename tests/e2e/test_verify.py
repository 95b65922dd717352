"""`gleaner verify` against a running service, and against one that breaks a promise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typer.testing import CliRunner

from gleaner_local.commands import program
from gleaner_local.servers.asgi import AsgiServer
from tests.e2e.commands import one_line, run, serving

KEYWORDS_CHAPTER = Path(__file__).parents[2] / "docs" / "05-keywords-and-learning.md"
NOBODY_KNOWS = "Who won the sheep-shearing contest of Upper Zubrowka in 1912?"
FAKE_URL = "ftp://example.org/page"

Json = dict[str, Any]
Tamper = Callable[[Request, int, Json], tuple[int, Json]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that knows the handbook's chapter on keywords."""
    with serving(tmp_path_factory.mktemp("verify") / "data", "--load", str(KEYWORDS_CHAPTER)) as url:
        yield url


@contextmanager
def tampering(
    service: str, tamper: Tamper, alter: Callable[[Request, bytes], bytes] = lambda _request, body: body
) -> Iterator[str]:
    """A proxy of the service that passes its JSON responses through `tamper`, and what is sent through `alter`."""

    async def relay(request: Request) -> Response:
        body = alter(request, await request.body())
        headers = {name: request.headers[name] for name in ("content-type", "x-api-key") if name in request.headers}
        path = f"{service}{request.url.path}"
        answer = await run_in_threadpool(
            http.request, request.method, path, params=str(request.query_params), content=body, headers=headers
        )
        if not answer.content:
            return Response(status_code=answer.status_code)
        status, content = tamper(request, answer.status_code, answer.json())
        return Response(json.dumps(content), status_code=status, media_type=answer.headers["content-type"])

    server = AsgiServer(Starlette(routes=[Route("/{path:path}", relay, methods=["GET", "POST", "DELETE"])]))
    server.start()
    try:
        with httpx.Client(timeout=30) as http:
            yield server.url
    finally:
        server.stop()


def is_answer(request: Request, status: int) -> bool:
    return request.url.path == "/api/chat/query" and status == httpx.codes.OK


def unknown_mark(request: Request, status: int, body: Json) -> tuple[int, Json]:
    return status, body | {"answer": f"{body['answer']} [kb-99]"} if is_answer(request, status) else body


def no_sources(request: Request, status: int, body: Json) -> tuple[int, Json]:
    bare = {"sources": [], "used_internal_kb": False, "used_external_kb": False, "answer": "418."}
    return status, body | bare if is_answer(request, status) else body


def no_places(request: Request, status: int, body: Json) -> tuple[int, Json]:
    for source in body.get("sources", []):
        source.update(source_file_path=None, position=7)
    return status, body


def not_from_the_web(request: Request, status: int, body: Json) -> tuple[int, Json]:
    for source in body.get("sources", []):
        source.update(source_type="external", source_url=FAKE_URL)
    claims = {"used_internal_kb": False, "used_external_kb": bool(body.get("sources"))}
    return status, body | claims if is_answer(request, status) else body


def searches_the_web_always(request: Request, status: int, body: Json) -> tuple[int, Json]:
    tools = {"used_tools": ["knowledge_base_search", "perplexity_search", "generate_response"]}
    return status, body | tools if is_answer(request, status) else body


def answers_at_once(request: Request, status: int, body: Json) -> tuple[int, Json]:
    if "tool_calls" in body:
        body["tool_calls"] = [call for call in body["tool_calls"] if call["tool_name"] == "generate_response"] * 2
    return status, body


def backwards(request: Request, status: int, body: Json) -> tuple[int, Json]:
    if "messages" in body:
        body["messages"].reverse()
    return status, body


def open_to_all(request: Request, status: int, body: Json) -> tuple[int, Json]:
    return (httpx.codes.OK if request.headers.get("x-api-key") else status), body


def lenient(request: Request, status: int, body: Json) -> tuple[int, Json]:
    return (httpx.codes.OK if status == httpx.codes.BAD_REQUEST else status), body


def without_field(request: Request, status: int, body: Json) -> tuple[int, Json]:
    return status, {name: value for name, value in body.items() if name != "used_tools"}


def forgets_groups(request: Request, body: bytes) -> bytes:
    if request.method == "POST" and request.url.path == "/api/documents":
        return json.dumps(json.loads(body) | {"groups": None}).encode()
    return body


def verify(url: str, *options: str) -> tuple[int, dict[str, str], dict[str, str]]:
    """The exit code, and for each check by name its outcome and what it saw."""
    result = CliRunner().invoke(program.app, ["verify", "--url", url, "--uncovered", NOBODY_KNOWS, "--json", *options])
    checks = json.loads(result.stdout)["checks"]
    outcomes = {check["name"]: check["outcome"] for check in checks}
    return result.exit_code, outcomes, {check["name"]: check["seen"] for check in checks}


def sessions(url: str) -> list[object]:
    all_sessions: list[object] = httpx.get(f"{url}/api/sessions").json()["sessions"]
    return all_sessions


@pytest.mark.slow
def test_a_working_service_passes_before_and_after_it_has_learned(service: str) -> None:
    for learned in (False, True):
        result = run("verify", "--url", service)
        assert result.returncode == 0, result.stdout + result.stderr
        lines = result.stdout.splitlines()
        assert all(line.startswith("ok ") for line in lines[:-1])
        assert lines[-1] == f"{service}: no check failed"
        [uncovered] = [line for line in lines if "uncovered" in line]
        assert ("stored web answer" in uncovered) == learned
    assert not sessions(service)


@pytest.mark.slow
def test_with_a_key_the_check_for_another_caller_is_skipped(service: str) -> None:
    code, outcomes, _ = verify(service, "--api-key", "reader")
    assert code == 0
    assert [name for name, outcome in outcomes.items() if outcome == "skipped"] == ["somebody else's"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tamper", "failing"),
    [
        (unknown_mark, {"covered question": "[kb-99]", "selected text": "[kb-99]"}),
        (no_sources, {"covered question": "no source", "selected text": "no source"}),
        (
            no_places,
            {"covered question": "lacks its file", "selected text": "not at the position 7"},
        ),
        (not_from_the_web, {"covered question": "no source of", "instructing text": FAKE_URL}),
        (
            searches_the_web_always,
            {"strict grounding": "was used", "selected text": "was used"},
        ),
        (
            answers_at_once,
            {"tools": "the first call is generate", "follow-up question": "without the topic"},
        ),
        (backwards, {"session": "differs from the conversation"}),
        (
            open_to_all,
            {"somebody else's": "status 200 instead of 404", "another group's": "status 200 instead of 404"},
        ),
        (lenient, {"bad input": "status 200 instead of 400"}),
        (without_field, {"tools": "used_tools is missing"}),
    ],
)
def test_a_broken_promise_fails_its_check(service: str, tamper: Tamper, failing: dict[str, str]) -> None:
    with tampering(service, tamper) as url:
        code, outcomes, reasons = verify(url)
    assert code == 1
    for name, reason in failing.items():
        assert outcomes[name] == "FAILED"
        assert reason in reasons[name]
    assert outcomes["health"] == "ok"
    assert len(outcomes) == 13, "every check runs"


@pytest.mark.slow
def test_a_service_that_forgets_groups_fails_its_check(service: str) -> None:
    with tampering(service, lambda _request, status, body: (status, body), forgets_groups) as url:
        code, outcomes, reasons = verify(url)
    assert (code, outcomes["another group's"]) == (1, "FAILED")
    assert "found the document of another group" in reasons["another group's"]


@pytest.mark.slow
def test_web_sources_need_addresses(service: str) -> None:
    with tampering(service, not_from_the_web) as url:
        code, outcomes, reasons = verify(url, "--uncovered", "How long may a keyword be?")
    assert (code, outcomes["uncovered question"]) == (1, "FAILED")
    assert FAKE_URL in reasons["uncovered question"]


def test_a_missing_service_is_reported_in_one_line() -> None:
    assert "No service" in one_line(run("verify", "--url", "http://127.0.0.1:9"))
