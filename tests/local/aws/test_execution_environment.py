"""Environments of a function: started when they are needed, and not for a burst of short requests."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gleaner_local.aws import _idle_slots
from gleaner_local.aws.execution_environment import ExecutionEnvironments

EVENT = {"httpMethod": "GET", "path": "/"}


def answer_quickly(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler that says which process it runs in."""
    return {"process": os.getpid()}


def answer_together(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler that ends when two processes run it."""
    present = Path(os.environ["PRESENT"])
    present.joinpath(str(os.getpid())).touch()
    ends_at = time.monotonic() + 50
    while len(list(present.iterdir())) < 2 and time.monotonic() < ends_at:
        time.sleep(0.05)
    return {"process": os.getpid()}


def answer_with_logs(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler that logs in Python and beside it."""
    for stream in (sys.stdout, sys.stderr):
        print("a line of the log", file=stream, flush=True)
    with suppress(OSError):
        os.write(1, b"a line of a library\n")
    return {"process": os.getpid()}


def run(handler: str, log_path: Path, count: int, **variables: str) -> set[int]:
    """The processes that handled this many events at once."""
    environments = ExecutionEnvironments(
        f"{__name__}.{handler}",
        {"PYTHONPATH": os.environ.get("PYTHONPATH", "")} | variables,
        log_path=log_path,
        timeout_seconds=60,
        concurrency=2,
    )
    environments.warm_up()
    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(lambda number: environments.invoke(EVENT, str(number)), range(count)))
    environments.stop()
    return {result["process"] for result in results}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For requests that are short, except on a busy machine."""
    monkeypatch.setattr(_idle_slots, "_PATIENCE_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_burst_of_short_requests_starts_no_second_environment(tmp_path: Path) -> None:
    assert len(run("answer_quickly", tmp_path / "log", 30)) == 1


def test_long_requests_at_once_have_an_environment_each(tmp_path: Path) -> None:
    present = tmp_path / "present"
    present.mkdir()
    assert len(run("answer_together", tmp_path / "log", 2, PRESENT=str(present))) == 2


@pytest.mark.usefixtures("patient")
def test_what_a_handler_writes_is_in_the_log(tmp_path: Path) -> None:
    assert len(run("answer_with_logs", tmp_path / "log", 2)) == 1
    lines = ["a line of the log", "a line of the log", "a line of a library"]
    assert (tmp_path / "log").read_text().splitlines() == lines * 2


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("log_path", [Path("/dev/full"), Path("/nowhere/log")], ids=["full", "missing"])
def test_a_log_that_cannot_be_written_fails_no_event_and_is_reported_once(
    log_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert len(run("answer_with_logs", log_path, 3)) == 1
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith(f"The log {log_path} cannot be written: No ")
