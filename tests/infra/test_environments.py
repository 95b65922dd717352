"""Environments differ only by their records, and every template passes the checks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import Stack
from aws_cdk import aws_s3 as s3

from infra.app import make_app
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import EVERY, NAMES, Synthesis, stub_code

# "Dependency already enforced": the CDK writes such dependencies itself.
IGNORED = ["W3005"]
HASH = re.compile(r"[0-9a-f]{32,64}|v1[0-9A-F]{8}|[0-9A-F]{8}")  # the path /v1 may precede a hash


def test_names_are_unique() -> None:
    assert NAMES == ["dev", "staging", "prod"]
    assert len(ENVIRONMENTS) == 3


@pytest.mark.parametrize("stack", ["data", "documents", "service", "watch"])
def test_the_same_record_with_another_name_makes_the_same_stacks(synthesised: Synthesis, stack: str) -> None:
    templates = getattr(synthesised, stack)
    prod, twin = (json.dumps(templates[name]) for name in ("prod", "twin"))
    assert _lines_without_hashes(prod.replace("prod", "twin")) == _lines_without_hashes(twin)


@EVERY
def test_stacks_that_keep_data_are_protected(synthesised: Synthesis, environment: Environment) -> None:
    manifest = json.loads((synthesised.paths[0] / f"assembly-gleaner-{environment.name}" / "manifest.json").read_text())
    stacks = [one for one in manifest["artifacts"].values() if one["type"] == "aws:cloudformation:stack"]
    assert len(stacks) == 4
    for stack in stacks:
        keeps = environment.keep_data and not stack["properties"]["stackName"].endswith("-watch")
        assert stack["properties"].get("terminationProtection", False) is keeps


@pytest.mark.slow
def test_templates_pass_cfn_lint(synthesised: Synthesis) -> None:
    files = sorted(str(file) for path in synthesised.paths for file in path.glob("assembly-*/*.template.json"))
    assert len(files) == 3 * len(synthesised.data) + len(synthesised.documents)
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--ignore-checks", *IGNORED, "--template", *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_violated_rule_fails_the_synthesis(tmp_path: Path) -> None:
    code = stub_code(tmp_path)
    app = make_app([], code, outdir=tmp_path / "cdk.out")
    s3.Bucket(Stack(app, "broken"), "Bucket")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()


def _lines_without_hashes(template: str) -> list[str]:
    """The lines of the template without the hashes in the names of API deployments and cross-stack exports."""
    return sorted(HASH.sub("", line) for line in json.dumps(json.loads(template), indent=0).splitlines())
