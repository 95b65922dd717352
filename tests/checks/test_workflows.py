"""What the workflows must not lose: actions by commit, few rights, and no way to deploy but an environment on main.

`make workflows` runs linters of other people over them; these are the rules that only this project knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
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
RESULTS = ("success", "failure", "cancelled", "skipped")  # of a job
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
    before = ["check"]
    for name, job in deployed.items():
        assert ([job["needs"]] if isinstance(job["needs"], str) else job["needs"]) == before
        assert job["with"] == {"environment": name}
        before = [*before, name]


@pytest.mark.parametrize("name", [environment.name for environment in ENVIRONMENTS])
def test_an_environment_is_offered_only_for_what_passed_all_before_it(name: str) -> None:
    job = _read(FOLDER / "deploy.yml")["jobs"][name]
    earlier = [environment.name for environment in ENVIRONMENTS]
    earlier = earlier[: earlier.index(name)]
    for check, *results in product(RESULTS, repeat=1 + len(earlier)):
        needs = {"check": check} | dict(zip(earlier, results, strict=True))
        for deploy in (None, "[]", json.dumps([name]), json.dumps([*earlier, name])):
            expected = check == "success" and not set(results) & {"failure", "cancelled"} and name in (deploy or "")
            # Only a job whose needs all succeeded runs without a status function in its condition.
            implied = "cancelled()" in job["if"] or set(needs.values()) == {"success"}
            assert (implied and _evaluate(job["if"], needs, deploy)) == expected, (needs, deploy)
            assert not _evaluate(job["if"], needs, deploy, cancelled=True) or "cancelled()" not in job["if"]


def test_every_push_is_checked_once() -> None:
    pushes = {name: _read(FOLDER / f"{name}.yml")["on"]["push"] for name in ("ci", "deploy")}
    assert pushes == {"ci": {"branches-ignore": ["main"]}, "deploy": {"branches": ["main"]}}


def test_the_next_push_cancels_no_check_of_main() -> None:
    concurrency = _read(FOLDER / "ci.yml")["concurrency"]
    assert concurrency["group"] == "check-${{ github.event_name == 'pull_request' && github.ref || github.sha }}"
    assert concurrency["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"


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
    assert 'PINECONE_INDEX_HOST="$PINECONE_INDEX_HOST"' in deploy  # make takes it from the command line only


def _evaluate(condition: str, needs: dict[str, str], deploy: str | None, cancelled: bool = False) -> bool:
    """The value of a condition, of GitHub's expressions as far as they are those of Python in other words.

    docs.github.com/actions: evaluate expressions in workflows and actions.
    """
    text = re.sub(r"needs\.(\w+)\.result", r"needs['\1']", condition.strip().removeprefix("${{").removesuffix("}}"))
    for theirs, ours in (("&&", " and "), ("||", " or "), ("!", " not "), ("vars.DEPLOY", "deploy")):
        text = text.replace(theirs, ours)
    functions = {"cancelled": lambda: cancelled, "contains": lambda items, item: item in items, "fromJSON": json.loads}
    return bool(eval(" ".join(text.split()), {"needs": needs, "deploy": deploy, **functions}))  # noqa: S307


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
