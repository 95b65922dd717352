"""Checks the CloudFormation stacks of an environment, and reads their outputs and resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "stacks"
_COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack that exists."""

    name: str
    status: str
    protected: bool  # termination protection
    outputs: Mapping[str, str]
    resources: Mapping[str, Sequence[str]]  # physical ids by type
    parameters: Mapping[str, str]  # for those that name a parameter of SSM, the value that was found there

    def check(self, outputs: Sequence[str], *, fix: str) -> Finding:
        """Check that the last deployment succeeded and left these outputs; `fix` is the command that deploys it."""
        missing = [name for name in outputs if not self.outputs.get(name)]
        if self.status.endswith("_IN_PROGRESS"):
            return problem(SUBJECT, f"{self.name} is being changed ({self.status}).", "Wait, then check again.")
        if self.status not in _COMPLETE:
            text = f"The last deployment of {self.name} failed ({self.status})."
            return problem(SUBJECT, text, f"See its events in the CloudFormation console for the reason; then {fix}")
        if missing:
            return problem(SUBJECT, f"{self.name} lacks the outputs {', '.join(missing)}.", f"Deploy it again: {fix}")
        return ok(SUBJECT, f"{self.name} is complete ({self.status}).")


def read_stack(client: Any, name: str) -> Stack | None:
    """The stack of this name, or None; `client` is a CloudFormation client."""
    try:
        (description,) = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":  # the stack does not exist
            return None
        raise
    resources: defaultdict[str, list[str]] = defaultdict(list)
    for page in client.get_paginator("list_stack_resources").paginate(StackName=name):
        for resource in page["StackResourceSummaries"]:
            if resource.get("PhysicalResourceId"):
                resources[resource["ResourceType"]].append(resource["PhysicalResourceId"])
    return Stack(
        name=name,
        status=description["StackStatus"],
        protected=bool(description.get("EnableTerminationProtection")),
        outputs={output["OutputKey"]: output["OutputValue"] for output in description.get("Outputs", ())},
        resources=resources,
        parameters={
            parameter["ParameterKey"]: parameter.get("ResolvedValue", parameter.get("ParameterValue", ""))
            for parameter in description.get("Parameters", ())
        },
    )
