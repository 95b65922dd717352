"""Environments of a function: started when they are needed, and not for a burst of short requests."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gleaner_local.aws.execution_environment import ExecutionEnvironments

EVENT = {"httpMethod": "GET", "path": "/"}


def answer_quickly(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler that says which process it runs in."""
    return {"process": os.getpid()}


def answer_slowly(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler as slow as a question."""
    time.sleep(3)
    return {"process": os.getpid()}


def run(handler: str, tmp_path: Path, count: int) -> set[int]:
    """The processes that handled this many events at once."""
    environments = ExecutionEnvironments(
        f"{__name__}.{handler}",
        {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        log_path=tmp_path / "log",
        timeout_seconds=60,
        concurrency=2,
    )
    environments.warm_up()
    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(lambda number: environments.invoke(EVENT, str(number)), range(count)))
    environments.stop()
    return {result["process"] for result in results}


def test_a_burst_of_short_requests_starts_no_second_environment(tmp_path: Path) -> None:
    assert len(run("answer_quickly", tmp_path, 30)) == 1


def test_long_requests_at_once_have_an_environment_each(tmp_path: Path) -> None:
    assert len(run("answer_slowly", tmp_path, 2)) == 2
