"""`gleaner ask` on a terminal against a service that streams."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Router, request_response

from gleaner_local.commands.live_answer import split_blocks
from gleaner_local.servers.asgi import AsgiServer
from tests.e2e.commands import ENVIRONMENT, GLEANER

pytestmark = pytest.mark.slow  # each asks a service by a process of its own

BLOCKS = [
    "Keywords are merged by a **conditional write**. [kb-2]\n\n",
    "1. First. [kb-1]\n2. Second.\n\n   Still the second.\n\n",
    "```python\na = 1\n\nb = 2\n```\n\n",
    "The end \x1b[2J of it. [kb-2]",
]
TEXT = "".join(BLOCKS)
WITHDRAWN = {"gleaner": {"withdrawn": True}}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def source(source_id: str, path: str) -> dict[str, Any]:
    names = ("chapter", "source_url", "page_number", "page_label")
    return {"id": source_id, "source_type": "knowledge_base", "source_file_path": path, "chunk_index": 0} | {
        "support": "found",
        **dict.fromkeys(names),
    }


ANSWER = {
    "answer": TEXT,
    "answered": "found",
    "sources": [source("kb-1", "a.md"), source("kb-2", "b.md")],
    "used_tools": ["knowledge_base_search"],
    "latency_ms": 1.0,
    "metadata": {"model": "m"},
    "session_id": "s",
    "keyword_count": 0,
    "status": "success",
}
PROBLEM = {"type": "urn:gleaner:problem:answer-rejected", "detail": "No valid answer. Ask again."}
CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "knowledge_base_search"}


async def parts(question: str) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "start", "messageId": "m"}
    yield {"type": "data-gleaner-step", "data": {"step": "search"}}
    yield CALL | {"input": {"query": "merging \x1b]0;owned\x07 keywords"}}
    yield {"type": "data-gleaner-passages", "data": [{"id": "kb-1"}, {"id": "kb-2"}]}
    yield {"type": "tool-output-available", "toolCallId": "c", "output": {"count": 2}}
    if question != "plain":
        yield {"type": "text-start", "id": "text-1"}
        yield {"type": "text-delta", "id": "text-1", "delta": "Something wrong. [kb-1]"}
        if question == "wait":
            await asyncio.sleep(60)
        yield {"type": "text-end", "id": "text-1", "providerMetadata": WITHDRAWN}
    if question == "fail":
        yield {"type": "data-gleaner-problem", "data": PROBLEM}
        return
    yield {"type": "text-start", "id": "text-2"}
    for start in range(0, len(TEXT), 7):
        yield {"type": "text-delta", "id": "text-2", "delta": TEXT[start : start + 7]}
        await asyncio.sleep(0.005)
    yield {"type": "text-end", "id": "text-2"}
    yield {"type": "data-gleaner-answer", "data": ANSWER}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    async def answer(request: Request) -> Response:
        question = (await request.json())["query"]
        if request.url.path == "/api/chat/query":
            return JSONResponse(ANSWER, headers={"x-query-id": "q"})

        async def events() -> AsyncIterator[bytes]:
            async for part in parts(question):
                yield f"data: {json.dumps(part)}\n\n: keep-alive\n\n".encode()
            if question != "break":
                yield b"data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    server = AsgiServer(Router(default=request_response(answer)))
    server.start()
    yield server.url
    server.stop()


def on_terminal(url: str, question: str, *, interrupt_at: bytes | None = None, **variables: str) -> tuple[int, str]:
    """Exit status, and all that the terminal got; with `interrupt_at`, Ctrl-C is pressed when it got that."""
    parent, child = pty.openpty()
    command = [str(GLEANER), "ask", question, "--url", url]
    process = subprocess.Popen(command, stdout=child, stderr=child, env=ENVIRONMENT | {"TERM": "xterm"} | variables)
    os.close(child)
    printed = b""
    try:
        while part := os.read(parent, 65536):
            printed += part
            if interrupt_at is not None and interrupt_at in printed:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
    except OSError:  # Linux ends the output of a terminal with an error
        pass
    os.close(parent)
    return process.wait(60), printed.decode()


def lines_of(printed: str) -> list[str]:
    return [line.strip() for line in ANSI.sub("", printed).replace("\r", "\n").splitlines()]


def test_steps_text_and_sources_are_shown(url: str) -> None:
    status, printed = on_terminal(url, "plain")
    lines = lines_of(printed)
    assert status == 0
    assert any(line.startswith("· Searched the documents: 2 passages for “merging") for line in lines)
    # Sources are numbered as the text marks them.
    assert "Keywords are merged by a conditional write. [1]" in lines
    assert "1 First. [2]" in lines
    assert [line for line in lines if line.startswith(("[1]", "[2]"))] == ["[1] b.md · chunk 0", "[2] a.md · chunk 0"]
    assert not any(sequence in printed for sequence in ("\x1b]", "\x1b[2J"))
    assert "withdrawn" not in printed


def test_a_withdrawn_text_is_marked_as_such(url: str) -> None:
    status, printed = on_terminal(url, "withdraw")
    lines = lines_of(printed)
    assert status == 0
    text, mark, answer = (
        lines.index(line)
        for line in (
            "Something wrong. [1]",
            "The text above is withdrawn: the service did not accept it.",
            "Keywords are merged by a conditional write. [1]",
        )
    )
    assert text < mark < answer


@pytest.mark.parametrize(("question", "line"), [("fail", "No valid answer. Ask again."), ("break", "broke off")])
def test_a_stream_that_fails_or_breaks_off_is_an_error(url: str, question: str, line: str) -> None:
    status, printed = on_terminal(url, question)
    assert status == 1
    assert line in [shown for shown in lines_of(printed) if shown][-1] and "Traceback" not in printed


def test_ctrl_c_ends_it_and_restores_the_cursor(url: str) -> None:
    status, printed = on_terminal(url, "wait", interrupt_at=b"Something wrong")
    assert status == 130
    assert "Traceback" not in printed
    assert printed.rindex("\x1b[?25h") > printed.rindex("\x1b[?25l")


INTERRUPTED_LOADING = """
import signal, sys

class Interrupt:
    def find_spec(name, path=None, target=None):
        if name == "httpx":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
from gleaner_local.commands.main import main
main()
"""


def test_ctrl_c_ends_it_while_it_loads() -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_LOADING], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_no_color_is_respected(url: str) -> None:
    _, printed = on_terminal(url, "withdraw", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7])m", printed)


def test_a_pipe_gets_the_whole_answer_at_once(url: str) -> None:
    command = [GLEANER, "ask", "withdraw", "--url", url]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert result.returncode == 0
    assert "Something wrong" not in result.stdout and "Searched" not in result.stdout


def test_blocks_end_at_empty_lines_outside_code_and_lists() -> None:
    assert split_blocks(TEXT) == BLOCKS
    for end in range(len(TEXT)):
        blocks = split_blocks(TEXT[:end])
        assert "".join(blocks) == TEXT[:end]
        assert blocks[:-1] == BLOCKS[: len(blocks) - 1]  # what is printed stays as it is
