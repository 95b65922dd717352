"""`gleaner doctor` for a service that runs on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gleaner_local.diagnosis.finding import State
from gleaner_local.diagnosis.here import LocalCheck
from tests.e2e.commands import run, serving

pytestmark = pytest.mark.slow

CHAPTER = Path(__file__).parents[2] / "docs" / "11-costs-and-limits.md"
PARTS = {"language model", "vector index", "web search", "tables"}


def test_a_running_service_is_checked_part_by_part(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir, "--load", str(CHAPTER)) as url:
        result = run("doctor", "--data-dir", data_dir, "--json")
        assert result.returncode == 0
        report = json.loads(result.stdout)
        assert report["problems"] == 0
        assert {one["state"] for one in report["findings"]} == {"ok"}
        assert {one["subject"] for one in report["findings"]} == PARTS | {"API", "configuration"}
        result = run("doctor", "--data-dir", data_dir, "--ask", "--json")
        report_with_calls = json.loads(result.stdout)
        assert (result.returncode, result.stderr, report_with_calls["problems"]) == (0, "", 0)
        assert len(report_with_calls["findings"]) == len(report["findings"]) + 5
        findings = list(LocalCheck(data_dir, {"OPENAI_API_KEY": "secret-key"}).findings())
        (note,) = [one for one in findings if one.state is State.NOTE]
        assert (note.subject, note.remedy) == ("language model", "Start it again.")
    result = run("doctor", "--url", url)
    assert result.returncode == 1
    assert result.stdout.startswith("PROBLEM")
