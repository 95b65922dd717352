"""What questions cost, as `make bench` measures it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cost.py"


@pytest.mark.slow
def test_learned_answers_are_cheaper_than_the_web_need_few_round_trips_and_cost_what_the_handbook_says() -> None:
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "USD less for 1,000" in run.stdout
