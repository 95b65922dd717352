"""What `make deploy` says about the version in use and about CodeDeploy, from responses that botocore checks.

The deployments are those of a canary that AWS rolled back: one that is stopped, with CodeDeploy's words for an alarm,
and the rollback that it triggered; each names the other ("RollbackInfo" in CodeDeploy's API reference).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.stub import Stubber

from infra import rollout
from infra.layer_build import ROOT

STACK = "gleaner-staging-service"
FUNCTION = "arn:aws:lambda:eu-central-1:111122223333:function:gleaner-staging-service-QueryPython"
ALARM = (
    "One or more alarms have been activated according to the Amazon CloudWatch metrics you selected, and the affected "
    "deployments have been stopped. Activated alarms: <gleaner-staging-service-canary-errors-3>"
)

Describe = Callable[..., list[str]]


def _deployment(id: str, minute: int, status: str, **values: Any) -> dict[str, Any]:
    return {
        "deploymentId": id,
        "status": status,
        "createTime": datetime(2026, 11, 29, 10, minute, tzinfo=UTC),
    } | values


SHIFTED = _deployment("d-SHIFTED", 1, "Succeeded")
STOPPED = _deployment(
    "d-STOPPED",
    7,
    "Stopped",
    errorInformation={"code": "ALARM_ACTIVE", "message": ALARM},
    rollbackInfo={"rollbackDeploymentId": "d-BACK", "rollbackMessage": "Automatic rollback is triggered."},
)
BACK = _deployment("d-BACK", 9, "Succeeded", rollbackInfo={"rollbackTriggeringDeploymentId": "d-STOPPED"})


@pytest.fixture
def describe() -> Describe:
    """Describes a stack of these resources; `deployments` are CodeDeploy's, in any order."""

    def run(
        *, deployments: list[dict[str, Any]] | None, weights: dict[str, float] | None = None, status: str = "x"
    ) -> list[str]:
        clients = {
            name: boto3.client(name, region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
            for name in ("cloudformation", "lambda", "codedeploy")
        }
        stubs = {name: Stubber(client) for name, client in clients.items()}
        _stub_stack(stubs["cloudformation"], status, has_group=deployments is not None)
        _stub_alias(stubs["lambda"], weights)
        if deployments is not None:
            _stub_deployments(stubs["codedeploy"], deployments)
        for stub in stubs.values():
            stub.activate()
        lines = list(rollout.describe(STACK, clients.__getitem__))
        for stub in stubs.values():
            stub.assert_no_pending_responses()
        return lines

    return run


def _stub_stack(stub: Stubber, status: str, *, has_group: bool) -> None:
    began = datetime(2026, 11, 29, tzinfo=UTC)
    stack = {"StackName": STACK, "StackStatus": status, "CreationTime": began}
    stub.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": STACK})
    ids = {"AWS::Lambda::Function": "query", "AWS::Lambda::Alias": f"{FUNCTION}:live"}
    if has_group:
        ids |= {"AWS::CodeDeploy::Application": "app", "AWS::CodeDeploy::DeploymentGroup": "app|group"}
    summaries = [
        {
            "LogicalResourceId": kind.rpartition(":")[2],
            "PhysicalResourceId": id,
            "ResourceType": kind,
            "LastUpdatedTimestamp": began,
            "ResourceStatus": "UPDATE_COMPLETE",
        }
        for kind, id in ids.items()
    ]
    pages = [summaries[:2], summaries[2:]]
    stub.add_response("list_stack_resources", {"StackResourceSummaries": pages[0], "NextToken": "n"}, None)
    stub.add_response("list_stack_resources", {"StackResourceSummaries": pages[1]}, None)


def _stub_alias(stub: Stubber, weights: dict[str, float] | None) -> None:
    routing = {"RoutingConfig": {"AdditionalVersionWeights": weights}} if weights else {}
    stub.add_response("get_alias", {"FunctionVersion": "2"} | routing, {"FunctionName": FUNCTION, "Name": "live"})
    configuration = {"FunctionName": "query", "State": "Active"}
    stub.add_response("get_function_configuration", configuration, {"FunctionName": FUNCTION, "Qualifier": "live"})


def _stub_deployments(stub: Stubber, deployments: list[dict[str, Any]]) -> None:
    ids = [one["deploymentId"] for one in deployments]
    expected = {"applicationName": "app", "deploymentGroupName": "group"}
    stub.add_response("list_deployments", {"deployments": ids}, expected)
    if ids:
        stub.add_response("batch_get_deployments", {"deploymentsInfo": deployments}, {"deploymentIds": ids})


def test_a_version_that_took_over_is_named(describe: Describe) -> None:
    assert describe(deployments=[SHIFTED], status="UPDATE_COMPLETE") == [
        "gleaner-staging-service: UPDATE_COMPLETE",
        "live: version 2 of query, Active",
        "CodeDeploy d-SHIFTED (2026-11-29 10:01 UTC): Succeeded",
    ]


@pytest.mark.parametrize("order", [[SHIFTED, STOPPED, BACK], [BACK, STOPPED, SHIFTED]])
def test_a_version_that_was_rolled_back_is_reported_with_its_alarm(
    describe: Describe, order: list[dict[str, Any]]
) -> None:
    lines = describe(deployments=order, status="UPDATE_ROLLBACK_COMPLETE")
    assert lines == [
        "gleaner-staging-service: UPDATE_ROLLBACK_COMPLETE",
        "live: version 2 of query, Active",
        f"CodeDeploy d-STOPPED (2026-11-29 10:07 UTC): Stopped, ALARM_ACTIVE: {ALARM}",
        "CodeDeploy d-BACK (2026-11-29 10:09 UTC): Succeeded",
        "The new version was rolled back: the requests go to the version before it.",
    ]


def test_a_stack_that_takes_no_deployment_is_reported_with_the_way_out(describe: Describe) -> None:
    lines = describe(deployments=[STOPPED], status="UPDATE_ROLLBACK_FAILED")
    assert lines[0] == f"{STACK}: UPDATE_ROLLBACK_FAILED"
    assert lines[1].endswith(f": aws cloudformation continue-update-rollback --stack-name {STACK}")
    heading = lines[1].partition("(docs/09, ")[2].partition(")")[0]
    assert f"\n## {heading}\n" in (ROOT / "docs" / "09-deploying-and-operating.md").read_text()


def test_a_canary_in_flight_shows_its_share(describe: Describe) -> None:
    lines = describe(deployments=[_deployment("d-NOW", 1, "InProgress")], weights={"3": 0.1})
    assert lines[2:] == [
        "  version 3 gets 10 % of the requests",
        "CodeDeploy d-NOW (2026-11-29 10:01 UTC): InProgress",
    ]


def test_the_first_deployment_has_no_canary(describe: Describe) -> None:
    assert describe(deployments=[])[2:] == [
        "CodeDeploy: no version was moved by it yet. The first one takes over without a canary."
    ]


def test_an_environment_without_a_canary_has_a_version_only(describe: Describe) -> None:
    assert len(describe(deployments=None)) == 2


def test_the_program_needs_an_environment_and_says_what_it_cannot_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(_service: str) -> Any:
        raise NoCredentialsError

    assert rollout.main(["nowhere"], refuse) == 2
    assert "dev|staging|prod" in capsys.readouterr().err
    assert rollout.main(["prod"], refuse) == 1
    assert "credentials" in capsys.readouterr().err
