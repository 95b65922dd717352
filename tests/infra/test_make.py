"""The Makefile: its help, the Python it chooses, and what it passes to pip and to the CDK."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.layer_build import ROOT

MAKE = shutil.which("make") or "make"


def test_a_deployment_gets_the_stack_the_host_and_the_flags() -> None:
    command = _command("deploy", "ENV=prod", "STACK=service", "PINECONE_INDEX_HOST=x.pinecone.io", "CDK_FLAGS=--force")
    assert '-m infra.deploy prod "service" --index-host x.pinecone.io --force' in command
    assert '-m infra.deploy dev "*"' in (command := _command("deploy"))
    assert "--index-host" not in command


def test_the_host_of_the_shell_repoints_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINECONE_INDEX_HOST", "https://other.pinecone.io")
    monkeypatch.setenv("INDEX_HOST", "--index-host https://other.pinecone.io")
    assert "other.pinecone.io" not in _command("deploy", "ENV=prod")
    assert "--index-host" not in _command("deploy", "ENV=prod", "PINECONE_INDEX_HOST=")
    assert "--index-host x.pinecone.io" in _command("deploy", "PINECONE_INDEX_HOST=x.pinecone.io")


def test_flags_reach_the_cdk() -> None:
    assert '"gleaner-prod/service" --force' in _command("destroy", "ENV=prod", "STACK=service", "CDK_FLAGS=--force")


def test_make_alone_lists_every_target() -> None:
    lines = _run().splitlines()
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert [line.split()[1] for line in lines] == targets.split()
    assert _run("help").splitlines() == lines
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize(
    ("suitable", "choice"),
    [
        (("python3", "python3.14"), "python3"),
        (("python3.14", "python3.12"), "python3.14"),
        (("python3.11", "python3.13"), "python3.13"),
        (("python3.11",), "python3.11"),
    ],
)
def test_the_newest_suitable_python_is_taken_if_python3_is_not_one(
    tmp_path: Path, suitable: tuple[str, ...], choice: str
) -> None:
    run = _make_environment(tmp_path, suitable)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "made-by").read_text().split() == [choice, "-m", "venv", ".venv"]


def test_without_a_suitable_python_make_says_which_versions_are(tmp_path: Path) -> None:
    run = _make_environment(tmp_path, ())
    assert run.returncode != 0
    assert "Python 3.11 to 3.14" in run.stderr
    assert "PYTHON=" in run.stderr
    assert not (tmp_path / "made-by").exists()


def test_a_python_that_is_named_is_taken(tmp_path: Path) -> None:
    _make_environment(tmp_path, ("python3", "other"), "PYTHON=other")
    assert (tmp_path / "made-by").read_text().split()[0] == "other"


def test_every_installation_of_pins_takes_wheels_only() -> None:
    commands = re.findall(r"-m pip .*? -r \S+", _command("--always-make", "setup"))
    assert len(commands) == 3  # what runs, the stacks, the tests
    assert all("--require-hashes --only-binary :all:" in command for command in commands)


@pytest.mark.parametrize("program", ["infra/layer_build.py", "benchmarks/harness/pinned_environments.py"])
def test_programs_that_install_pins_take_wheels_only(program: str) -> None:
    assert '"--require-hashes", "--only-binary", ":all:"' in (ROOT / program).read_text()


def _make_environment(folder: Path, suitable: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the rule that makes .venv with the `suitable` interpreters, which note their call, and unsuitable ones."""
    programs = folder / "bin"
    programs.mkdir()
    for name in {"python3", *(f"python3.{minor}" for minor in range(11, 15)), *suitable}:
        script = '[ "$1" = -c ] || echo "${0##*/}" "$@" > made-by' if name in suitable else "exit 1"
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    shutil.copy(ROOT / "Makefile", folder)
    command = [MAKE, *arguments, ".venv/bin/python"]
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def _command(*arguments: str) -> str:
    """What make would run, as one line."""
    return " ".join(_run("--dry-run", *arguments).replace("\\\n", " ").split())


def _run(*arguments: str) -> str:
    command = [MAKE, "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
