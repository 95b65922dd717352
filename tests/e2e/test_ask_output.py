"""`gleaner ask` against a service whose answers hold escape sequences, Markdown and backslashes."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Router, request_response
from typer.testing import CliRunner

from gleaner_local.commands import program
from gleaner_local.servers.asgi import AsgiServer
from tests.e2e.commands import ENVIRONMENT, GLEANER, one_line

pytestmark = pytest.mark.slow  # each asks a service by a process of its own

LONG = " ".join(f"word{number}" for number in range(60))
TEXT = "Edit `__init__.py` and __init__.py in C:\\new\\!gate\\#1, see [this](https://a.example/x). [kb-1]"
SOURCE = {
    "id": "kb-1",
    "source_type": "kb",
    "source_file_path": "docs/\x1b]0;owned\x07\u202ea.md",
    "chapter": "A\x9b2J\n  [9] forged",
    "page_number": None,
    "page_label": None,
    "chunk_index": 0,
    "support": "found",
}
PUBLISHED = SOURCE | {"id": "kb-2", "source_file_path": "docs/b.md", "source_url": "https://docs.example/b/"}
ANSWER: dict[str, Any] = {
    "answer": f"{TEXT}\n{LONG}\n\x1b[2Jcleared \x9b31m \u202e",
    "sources": [SOURCE, PUBLISHED],
    "used_tools": ["knowledge_base_search"],
    "latency_ms": 1.0,
    "metadata": {"model": "m\x1b[31m"},
    "session_id": "s",
    "keyword_count": 0,
    "status": "success",
}
CHANGES: dict[str, Any] = {
    "partly": {"answered": "partly"},
    "not_found": {"answered": "not_found"},
    "without sources": {"answered": "not_found", "sources": []},
    "hello": {"answered": "not_found", "sources": []},
}


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, list[Any]]]:
    bodies: list[Any] = []

    async def answer(request: Request) -> Response:
        if request.url.path != "/api/chat/query":  # as a service of a version that did not stream
            return JSONResponse({"type": "urn:gleaner:problem:not-found", "detail": "There is no such path."}, 404)
        bodies.append(await request.json())
        if bodies[-1]["query"] == "fail":
            return JSONResponse({"detail": "no\x1b[2J\nsecond", "type": "t"}, 400)
        changes = CHANGES.get(bodies[-1]["query"], {})
        return JSONResponse(ANSWER | changes, headers={"x-query-id": "q"})

    server = AsgiServer(Router(default=request_response(answer)))
    server.start()
    yield server.url, bodies
    server.stop()


def ask(url: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    command = [str(GLEANER), "ask", *arguments, "--url", url]
    return subprocess.run(command, text=True, env=ENVIRONMENT, timeout=240, check=False, **settings)


def printed_here(url: str, *arguments: str) -> str:
    """The output without a new process, which takes a second to start."""
    return CliRunner().invoke(program.app, ["ask", *arguments, "--url", url]).stdout


def test_a_pipe_gets_the_text_as_it_is_without_controls(service: tuple[str, list[Any]]) -> None:
    printed = ask(service[0], "q").stdout
    assert TEXT.replace("[kb-1]", "[1]") in printed.splitlines()
    assert LONG in printed.splitlines()
    assert not set(printed) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b[2Jcleared" in printed
    assert not any(line.startswith("  [9]") for line in printed.splitlines())


def test_a_source_is_shown_with_its_address(service: tuple[str, list[Any]]) -> None:
    [line] = [line for line in printed_here(service[0], "q").splitlines() if "docs/b.md" in line]
    assert line.endswith(" · chunk 0 <https://docs.example/b/>")


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("partly", "The passages answer this only in part."),
        ("not_found", "The passages do not answer this."),
        ("without sources", "This answer rests on no passage."),
    ],
)
def test_an_answer_that_lacks_something_says_so(service: tuple[str, list[Any]], question: str, line: str) -> None:
    assert line in printed_here(service[0], question).splitlines()


def test_a_greeting_is_not_said_to_rest_on_no_passage(service: tuple[str, list[Any]]) -> None:
    printed = printed_here(service[0], "hello")
    assert LONG in printed and "passage" not in printed


def test_json_holds_no_controls(service: tuple[str, list[Any]]) -> None:
    printed = printed_here(service[0], "q", "--json")
    assert "cleared" in printed
    assert not set(printed) & set("\x1b\x07\x9b\u202e")


def test_a_terminal_gets_no_escape_sequence_from_outside_and_no_active_link(service: tuple[str, list[Any]]) -> None:
    parent, child = pty.openpty()
    ask(service[0], "q", stdout=child)
    os.close(child)
    printed = b""
    try:
        while part := os.read(parent, 65536):
            printed += part
    except OSError:  # Linux ends the output of a terminal with an error
        pass
    os.close(parent)
    assert b"https://a.example/x" in printed
    assert not any(sequence in printed for sequence in (b"\x1b]", b"\x1b[2J", b"\xc2\x9b", "\u202e".encode()))


def test_an_error_of_the_service_is_one_line(service: tuple[str, list[Any]]) -> None:
    line = one_line(ask(service[0], "fail"))
    assert "\x1b" not in line and "second" in line


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has it")  # noqa: PTH110
@pytest.mark.parametrize("options", [(), pytest.param(("--json",), marks=pytest.mark.slow)])
def test_a_full_disk_is_one_line(service: tuple[str, list[Any]], options: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = ask(service[0], "q", *options, stdout=full)
    assert (result.returncode, result.stderr) == (1, "The output cannot be written: No space left on device.\n")


def test_a_question_is_read_from_standard_input(service: tuple[str, list[Any]]) -> None:
    assert ask(service[0], "-", input="Who?\nAnd why?\n").returncode == 0
    assert service[1][-1]["query"] == "Who?\nAnd why?"
    refused = subprocess.run(
        [GLEANER, "ask", "-", "--url", service[0]], input=b"\xff\xfe", capture_output=True, check=False, env=ENVIRONMENT
    )
    assert refused.returncode == 2 and b"UTF-8" in refused.stderr and b"Traceback" not in refused.stderr


def test_the_version_is_printed() -> None:
    result = subprocess.run([GLEANER, "--version"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert result.stdout == f"gleaner {version('gleaner')}\n"
