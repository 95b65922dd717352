"""Pruning by hand and on a schedule, with the service running as a process."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from tests.e2e.commands import run, serving

pytestmark = pytest.mark.slow


def wait_for(text: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if log.exists() and text in log.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(f"{text} is not in {log}")


def test_keywords_are_pruned_by_hand_and_restored_and_a_schedule_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir, "--prune-every", "0.001h") as url:
        answer = httpx.post(f"{url}/api/chat/query", json={"query": "What is Starlette?"}, timeout=90).json()
        count = answer["keyword_count"]
        assert count >= 3
        time.sleep(0.5)  # keywords must be older than the requested age, a third of a second
        options = ("keywords", "prune", "--older-than", "0.0001h", "--data-dir", data_dir)
        preview = run(*options)
        assert f"{count} would be pruned. Nothing was changed" in preview.stdout
        assert "Starlette" in preview.stdout and "times in all" in preview.stdout
        assert len(httpx.get(f"{url}/api/keywords", timeout=90).json()["keywords"]) == count
        report = json.loads(run(*options, "--apply", "--json").stdout)
        assert (report["pruned_count"], report["dry_run"]) == (count, False)
        repeat = run(*options, "--apply")
        assert "0 pruned in run" in repeat.stdout
        restoring = run("keywords", "restore", "--run", report["run_id"], "--data-dir", data_dir)
        assert restoring.stdout == f"{count} restored.\n"
        assert len(httpx.get(f"{url}/api/keywords", timeout=90).json()["keywords"]) == count
        unknown = run("keywords", "restore", "0" * 32, "--data-dir", data_dir)
        assert unknown.returncode == 1 and "no such keyword" in unknown.stderr
        wait_for("pruning run", data_dir / "logs" / "prune.log")
