"""The CDK's command line: what Ctrl-C does to it, and what is said where npm cannot install it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from infra import cdk, npm
from infra.layer_build import ROOT

# Takes SIGINT as the CDK may: it says how far it got, which takes longer than the quarter of a second that
# `subprocess.run` leaves it, and ends.
SLOW_TO_END = """
process.once("SIGINT", () => setTimeout(() => { console.log("rolled up"); process.exit(3) }, 800));
setInterval(() => {}, 1000);
console.log("ready");
"""
RUN = """
import sys
from pathlib import Path
from infra import cdk
cdk.CLI, cdk.install = Path(sys.argv[1]), lambda folder: None
sys.exit(cdk.main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["deploy", "--context", "created-stacks=", "gleaner-prod/data"], "python -m infra.rollout prod"),
        (["destroy", "gleaner-dev/*"], "python -m infra.rollout dev"),
        (["diff", "gleaner-dev/*"], ""),
    ],
    ids=["deploy", "destroy", "diff"],
)
def test_the_cdk_ends_by_itself_after_an_interrupt(tmp_path: Path, arguments: list[str], told: str) -> None:
    program = tmp_path / "node_modules" / "aws-cdk" / "bin" / "cdk"
    program.parent.mkdir(parents=True)
    program.write_text(SLOW_TO_END)

    with subprocess.Popen(
        [sys.executable, "-c", RUN, tmp_path, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        output, errors = run.communicate()
    assert (run.returncode, output) == (130, "rolled up\n")
    assert told in errors
    assert errors.count("\n") == bool(told)


def test_the_status_of_the_cdk_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "node_modules" / "aws-cdk" / "bin" / "cdk"
    program.parent.mkdir(parents=True)
    program.write_text("process.exit(process.argv.length)")
    monkeypatch.setattr(cdk, "CLI", tmp_path)
    monkeypatch.setattr(cdk, "install", lambda _: None)
    assert cdk.main(["deploy", "x", "y"]) == 5


def test_a_failed_installation_is_one_line_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("package.json", "package-lock.json"):
        (tmp_path / name).write_text((cdk.CLI / name).read_text())
    # Nothing listens there.
    (tmp_path / ".npmrc").write_text("registry=http://127.0.0.1:9/\nfetch-retries=0\nreplace-registry-host=always\n")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setattr(cdk, "CLI", tmp_path)
    for install in (partial(cdk.main, ["deploy"]), partial(npm.main, tmp_path)):
        assert install() == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "ECONNREFUSED" in error and "package-lock.json" in error
