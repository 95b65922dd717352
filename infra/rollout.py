"""Says which version of the query function is in use, and what CodeDeploy did last: `python -m infra.rollout prod`.

`make deploy` runs it after each deployment, also after one that failed: CloudFormation waits for CodeDeploy, and
reports a version that was rolled back as a failed update.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.account import open_session
from infra.environments import ENVIRONMENTS

_ALIAS, _APPLICATION, _GROUP = "AWS::Lambda::Alias", "AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup"
_STUCK = "UPDATE_ROLLBACK_FAILED"
_MAX_DEPLOYMENTS = 25  # that CodeDeploy describes at once
_PERCENT = 100

Clients = Callable[[str], Any]  # a client of boto3 for the name of a service


def describe(stack: str, clients: Clients) -> Iterator[str]:
    """Lines about the stack, the version in use, and CodeDeploy's last deployment. Raises botocore's errors."""
    cloudformation = clients("cloudformation")
    (description,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    yield f"{stack}: {description['StackStatus']}"
    if description["StackStatus"] == _STUCK:
        yield (
            "The stack takes no deployment until its rollback is finished (docs/09, What if a rollback fails?): "
            f"aws cloudformation continue-update-rollback --stack-name {stack}"
        )
    ids = _physical_ids(cloudformation, stack)
    if _ALIAS in ids:
        yield from _describe_alias(ids[_ALIAS], clients("lambda"))
    if _GROUP in ids:
        # Where the identifier of a resource has several parts, CloudFormation separates them so.
        group = ids[_GROUP].rpartition("|")[2]
        yield from _describe_deployments(ids[_APPLICATION], group, clients("codedeploy"))


def _physical_ids(cloudformation: Any, stack: str) -> dict[str, str]:
    """The physical ids of the stack's resources by type; of the types here it has one resource each."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        resource["ResourceType"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] in (_ALIAS, _APPLICATION, _GROUP) and resource.get("PhysicalResourceId")
    }


def _describe_alias(arn: str, lambda_: Any) -> Iterator[str]:
    function, _, name = arn.rpartition(":")
    alias = lambda_.get_alias(FunctionName=function, Name=name)
    configuration = lambda_.get_function_configuration(FunctionName=function, Qualifier=name)
    state = configuration.get("State", "Active")
    yield f"{name}: version {alias['FunctionVersion']} of {configuration['FunctionName']}, {state}"
    for version, weight in (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights", {}).items():
        yield f"  version {version} gets {weight * _PERCENT:g} % of the requests"


def _describe_deployments(application: str, group: str, codedeploy: Any) -> Iterator[str]:
    """The last deployment; and if it is the rollback of another one, that one before it."""
    listed = codedeploy.list_deployments(applicationName=application, deploymentGroupName=group)["deployments"]
    if not listed:
        yield "CodeDeploy: no version was moved by it yet. The first one takes over without a canary."
        return
    described = codedeploy.batch_get_deployments(deploymentIds=listed[:_MAX_DEPLOYMENTS])["deploymentsInfo"]
    by_id = {deployment["deploymentId"]: deployment for deployment in described}
    last = max(described, key=lambda deployment: deployment["createTime"])
    cause = by_id.get(last.get("rollbackInfo", {}).get("rollbackTriggeringDeploymentId", ""))
    for deployment in (cause, last) if cause else (last,):
        yield _describe_deployment(deployment)
    if cause:
        yield "The new version was rolled back: the requests go to the version before it."


def _describe_deployment(deployment: Any) -> str:
    """One line, with CodeDeploy's own words for what went wrong."""
    began = deployment["createTime"].astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    line = f"CodeDeploy {deployment['deploymentId']} ({began}): {deployment['status']}"
    error = deployment.get("errorInformation")
    return f"{line}, {error['code']}: {error['message']}" if error else line


def main(arguments: list[str], clients: Clients) -> int:
    """Print the lines about the environment that is named; returns the exit status."""
    names = [environment.name for environment in ENVIRONMENTS]
    if len(arguments) != 1 or arguments[0] not in names:
        print(f"usage: python -m infra.rollout {'|'.join(names)}", file=sys.stderr)
        return 2
    try:
        for line in describe(f"gleaner-{arguments[0]}-service", clients):
            print(line)
    except (BotoCoreError, ClientError) as error:  # whoever deploys by roles of others may not be allowed to look
        print(f"What CodeDeploy did cannot be read: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], open_session().client))  # type: ignore[arg-type]
