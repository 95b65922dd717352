"""The Makefile: its help, and what `make deploy` and `make destroy` pass to the CDK."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from infra.layer_build import ROOT

MAKE = shutil.which("make") or "make"


@pytest.mark.parametrize("host", ["gleaner-x.svc.pinecone.io", "https://gleaner-x.svc.pinecone.io"])
def test_the_host_of_the_index_may_lack_its_scheme(host: str) -> None:
    command = _command("deploy", "ENV=dev", f"PINECONE_INDEX_HOST={host}")
    assert "--parameters gleaner-dev-service:PineconeIndexHost=https://gleaner-x.svc.pinecone.io" in command


def test_without_a_host_the_deployed_one_is_kept() -> None:
    assert "PineconeIndexHost" not in _command("deploy", "ENV=dev")


@pytest.mark.parametrize("target", ["deploy", "destroy"])
def test_flags_reach_the_cdk(target: str) -> None:
    assert '"gleaner-prod/service" --force' in _command(target, "ENV=prod", "STACK=service", "CDK_FLAGS=--force")


def test_make_alone_lists_every_target() -> None:
    lines = _run().splitlines()
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert [line.split()[1] for line in lines] == targets.split()
    assert _run("help").splitlines() == lines
    assert all(len(line.split()) > 2 for line in lines)


def _command(*arguments: str) -> str:
    """What make would run, as one line."""
    return " ".join(_run("--dry-run", *arguments).replace("\\\n", " ").split())


def _run(*arguments: str) -> str:
    command = [MAKE, "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
