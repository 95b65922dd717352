"""`gleaner doctor` of a service that runs on this machine."""

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


def test_a_service_that_runs_is_asked_part_by_part(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir, "--load", str(CHAPTER)) as url:
        ended = run("doctor", "--data-dir", data_dir, "--json")
        assert ended.returncode == 0
        found = json.loads(ended.stdout)
        assert found["problems"] == 0
        assert {one["state"] for one in found["findings"]} == {"ok"}
        assert {one["subject"] for one in found["findings"]} == PARTS | {"API", "configuration"}
        asked = run("doctor", "--data-dir", data_dir, "--ask", "--json")
        report = json.loads(asked.stdout)
        assert (asked.returncode, asked.stderr, report["problems"]) == (0, "", 0)
        assert len(report["findings"]) == len(found["findings"]) + 5
        later = list(LocalCheck(data_dir, {"OPENAI_API_KEY": "secret-key"}).findings())
        (noted,) = [one for one in later if one.state is State.NOTE]
        assert (noted.subject, noted.remedy) == ("language model", "Start it again.")
    ended = run("doctor", "--url", url)
    assert ended.returncode == 1
    assert ended.stdout.startswith("PROBLEM")
