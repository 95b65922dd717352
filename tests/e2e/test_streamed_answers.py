"""Streams of the running service: they end in the same answers, and clients who go leave nothing behind."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.doubles.event_stream import final_of, read_parts, texts_of
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.e2e.service_process import Service, service

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
CHAPTERS = ("05-keywords-and-learning.md", "11-costs-and-limits.md")  # each heading is a question
# The model reads how long a search took, so its tokens differ, too.
OF_ONE_RUN = {"query_id", "session_id", "message_id", "latency_ms", "cost"}
CLIENTS, AT_ONCE = 200, 16
FUNCTIONS = 4  # that answer at once
TEXT = "Duplicate keywords are merged by a conditional write. " * 12 + "[kb-1]"
MAX_GROWTH = 1.2  # of the memory, from the first half of the clients to the second


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for chapter in CHAPTERS:
        (folder / chapter).write_text((DOCS / chapter).read_text())
    return folder


def test_a_streamed_answer_is_the_answer_that_is_sent_whole(tmp_path: Path, documents: Path) -> None:
    questions = [heading for chapter in CHAPTERS for heading in headings(documents / chapter)]
    assert len(questions) > 20
    with service(tmp_path / "data", "--load", str(documents)) as running:
        for question in questions:
            body = {"query": question, "grounding": "strict"}  # the web would teach what the next answer uses
            whole = running.ask(**body).json()
            response = httpx.post(f"{running.url}/api/chat/stream", json=body, timeout=90)
            parts = read_parts(response.text)
            assert texts_of(parts) == [whole["answer"]]
            assert same(final_of(parts)[1]) == same(whole)


def headings(document: Path) -> list[str]:
    return re.findall(r"^## (.+\?)$", document.read_text(), re.MULTILINE)


def same(body: dict[str, Any]) -> dict[str, Any]:
    """What must not differ between two runs of a question."""
    return {name: value for name, value in body.items() if name not in OF_ONE_RUN}


@pytest.fixture
def running(tmp_path: Path, documents: Path, scripted_model_server: tuple[ScriptedModel, str]) -> Iterator[Service]:
    variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": scripted_model_server[1]}
    with service(tmp_path / "data", "--load", str(documents), **variables) as process:
        yield process


def test_clients_who_go_at_any_moment_leave_one_turn_each_and_nothing_else(
    running: Service, model: ScriptedModel
) -> None:
    model.plays(lambda request: calls(answer(TEXT)) if has_searched(request) else calls(search()))
    model.piece_seconds = 0.005
    moments = random.Random(20)
    patience = [moments.uniform(0.05, 3.0) for _ in range(CLIENTS)]
    memory = []
    for half in (range(CLIENTS // 2), range(CLIENTS // 2, CLIENTS)):
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda number: follow_and_go(running.url, number, patience[number]), half))
        wait_until_idle(running)
        memory.append(resident_bytes(running))
        functions = running.children("spawn_main")
        assert 0 < len(functions) <= FUNCTIONS
    assert memory[1] < MAX_GROWTH * memory[0]
    counts = [message_counts(running.url, number) for number in range(CLIENTS)]
    assert all(count in ([], [2]) for count in counts), counts
    assert counts.count([2]) > CLIENTS / 2  # two thirds waited until they were heard
    assert threads_of(functions) < 80  # one for each question would be more
    pids = [running.process.pid, *running.children("")]
    assert running.stop() == 0
    assert remaining(pids) == []


def remaining(pids: list[int]) -> list[str]:
    """The commands of the processes that still run a while after the service has stopped."""
    give_up_at = time.monotonic() + 120
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]


def has_searched(request: dict[str, Any]) -> bool:
    return any(message["role"] == "tool" for message in request["messages"])


def follow_and_go(url: str, number: int, seconds: float) -> None:
    """Ask, read for so long, and close the connection in the middle.

    Every third client has no more patience until the answer begins: a busy service does not hear it.
    """
    body, headers = {"query": "How are duplicates merged?"}, {"x-api-key": f"client-{number}"}
    patience = seconds if number % 3 == 0 else 300.0
    ends_at = time.monotonic() + seconds
    try:
        with httpx.stream("POST", f"{url}/api/chat/stream", json=body, headers=headers, timeout=patience) as response:
            if patience > seconds:
                ends_at = time.monotonic() + seconds / 3
            for _ in response.iter_bytes():
                if time.monotonic() > ends_at:
                    return
    except httpx.TimeoutException:
        return


def wait_until_idle(running: Service) -> None:
    """Wait until every function is free: then the questions whose clients went are answered."""
    with ThreadPoolExecutor(FUNCTIONS) as threads:
        for status in threads.map(lambda _: httpx.get(f"{running.url}/api/health", timeout=300), range(FUNCTIONS)):
            assert status.is_success
    time.sleep(3)


def message_counts(url: str, number: int) -> list[int]:
    page = httpx.get(f"{url}/api/sessions", headers={"x-api-key": f"client-{number}"}, timeout=90).json()
    return [session["message_count"] for session in page["sessions"]]


def resident_bytes(running: Service) -> int:
    """Of the service and its functions."""
    pids = [running.process.pid, *running.children("spawn_main")]
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)


def threads_of(pids: list[int]) -> int:
    return max(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)
