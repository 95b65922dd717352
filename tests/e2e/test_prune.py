"""Keywords pruned by hand and on a schedule, with the service running as a process."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from tests.e2e.commands import run, serving

pytestmark = pytest.mark.slow


def wait_for(text: str, log: Path) -> None:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        if log.exists() and text in log.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(f"{text} does not stand in {log}")


def test_keywords_are_pruned_by_hand_and_come_back_and_a_schedule_runs(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir, "--prune-every", "0.001h") as url:
        learned = httpx.post(f"{url}/api/chat/query", json={"query": "What is Starlette?"}, timeout=30).json()
        count = learned["keyword_count"]
        assert count >= 3
        time.sleep(0.5)  # they must be older than the age that is asked for, a third of a second
        options = ("keywords", "prune", "--older-than", "0.0001h", "--data-dir", data_dir)
        shown = run(*options)
        assert f"{count} would be pruned. Nothing was changed" in shown.stdout
        assert "Starlette" in shown.stdout and "times in all" in shown.stdout
        assert len(httpx.get(f"{url}/api/keywords").json()["keywords"]) == count
        applied = json.loads(run(*options, "--apply", "--json").stdout)
        assert (applied["pruned_count"], applied["dry_run"]) == (count, False)
        nothing = run(*options, "--apply")
        assert "0 pruned in run" in nothing.stdout
        restored = run("keywords", "restore", "--run", applied["run_id"], "--data-dir", data_dir)
        assert restored.stdout == f"{count} restored.\n"
        assert len(httpx.get(f"{url}/api/keywords").json()["keywords"]) == count
        unknown = run("keywords", "restore", "0" * 32, "--data-dir", data_dir)
        assert unknown.returncode == 1 and "no such keyword" in unknown.stderr
        wait_for("pruning run", data_dir / "logs" / "prune.log")
