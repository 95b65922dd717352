"""What the workflows must not lose: actions by commit, few rights, and no way to deploy but an environment on main.

`make workflows` runs linters of other people over them; these are the rules that only this project knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.environments import ENVIRONMENTS
from infra.layer_build import ROOT

Workflow = dict[str, Any]

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
EVERY = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
DEPLOYS = "$/.github/workflows/deploy-environment.yml"
# Events that give strangers' code the rights of the repository.
RISKY_EVENTS = {"pull_request_target", "workflow_run", "issue_comment", "issues", "repository_dispatch"}


def test_there_are_workflows_to_check() -> None:
    assert {file.name for file in FILES} >= {"ci.yml", "deploy.yml", "deploy-environment.yml"}
    assert not list(FOLDER.glob("*.yaml"))


@EVERY
def test_actions_are_named_by_commit_and_version(file: Path) -> None:
    for line in file.read_text().splitlines():
        _, found, action = line.partition("uses: ")
        if found and not action.startswith("$/"):
            assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@EVERY
def test_no_right_is_given_to_more_than_the_job_that_needs_it(file: Path) -> None:
    workflow = _read(file)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert set(job["permissions"]) <= {"contents", "id-token"}
        assert job["permissions"]["contents"] == "read"


@EVERY
def test_only_jobs_that_deploy_may_ask_for_a_token(file: Path) -> None:
    for job in _read(file)["jobs"].values():
        assert ("id-token" in job["permissions"]) == (job.get("uses") == DEPLOYS or "environment" in job)


@EVERY
def test_strangers_start_nothing_but_the_checks(file: Path) -> None:
    events = _events(_read(file))
    assert not events & RISKY_EVENTS
    assert "pull_request" not in events or file.name == "ci.yml"


@EVERY
def test_there_are_no_secrets_to_leak(file: Path) -> None:
    text = file.read_text()
    assert "secrets." not in text
    assert "secrets: inherit" not in text
    assert "aws-access-key-id" not in text
    assert not re.search(r"AKIA[A-Z0-9]{16}", text)


@EVERY
def test_the_checkout_leaves_no_credentials_behind(file: Path) -> None:
    checkouts = [step for step in _steps(_read(file)) if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)
    assert checkouts or file.name == "deploy.yml"


@EVERY
def test_no_text_from_outside_becomes_a_part_of_a_script(file: Path) -> None:
    assert not any("${{" in step.get("run", "") for step in _steps(_read(file)))


def test_only_pushes_to_main_are_deployed_by_themselves() -> None:
    workflow = _read(FOLDER / "deploy.yml")
    assert workflow["on"] == {"push": {"branches": ["main"]}}
    jobs = workflow["jobs"]
    deployed = {name: job for name, job in jobs.items() if job["uses"] == DEPLOYS}
    assert list(deployed) == [environment.name for environment in ENVIRONMENTS]
    before = "check"
    for name, job in deployed.items():
        assert job["needs"] == before
        assert job["with"] == {"environment": name}
        assert f"contains(fromJSON(vars.DEPLOY || '[]'), '{name}')" in job["if"]
        assert "always()" not in job["if"]
        assert name == "dev" or "!failure() && !cancelled()" in job["if"]
        before = name


def test_a_deployment_needs_the_environment_and_meets_no_other() -> None:
    workflow = _read(FOLDER / "deploy-environment.yml")
    assert _events(workflow) == {"workflow_call", "workflow_dispatch"}
    choice = workflow["on"]["workflow_dispatch"]["inputs"]["environment"]
    assert choice["options"] == [environment.name for environment in ENVIRONMENTS]
    [job] = workflow["jobs"].values()
    assert job["environment"] == "${{ inputs.environment }}"
    assert workflow["concurrency"] == {
        "group": "environment-${{ inputs.environment }}",
        "cancel-in-progress": False,
    }


def test_packages_are_installed_before_there_are_credentials() -> None:
    steps = list(_steps(_read(FOLDER / "deploy-environment.yml")))
    [login] = [index for index, step in enumerate(steps) if step.get("uses", "").startswith("aws-actions/")]
    assert not any("make deploy" in step.get("run", "") for step in steps[:login])
    installs = "".join(step.get("run", "") for step in steps[:login])
    assert "make synth" in installs and "infra.npm infra/cdk_cli" in installs
    assert set(steps[login]["with"]) == {"role-to-assume", "role-session-name", "aws-region"}


def test_the_deployment_asks_nothing_for_which_the_role_would_have_to_read_more() -> None:
    steps = _steps(_read(FOLDER / "deploy-environment.yml"))
    [deploy] = [step["run"] for step in steps if "make deploy" in step.get("run", "")]
    assert "--require-approval never" in deploy


def _read(file: Path) -> Workflow:
    workflow: Workflow = yaml.safe_load(file.read_text())
    # YAML 1.1 reads the key `on` as true.
    return {"on" if key is True else key: value for key, value in workflow.items()}


def _events(workflow: Workflow) -> set[str]:
    events = workflow["on"]
    return {events} if isinstance(events, str) else set(events)


def _steps(workflow: Workflow) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())
