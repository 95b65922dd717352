"""Which stacks of an environment exist, in the sense that their creation has succeeded."""

from __future__ import annotations

import re
from typing import Any

# The context by which `infra.deploy` names them to the stacks, separated by commas.
CREATED_STACKS = "created-stacks"

# A stack in one of these states holds nothing that a deployment completed. The CDK deletes those that were rolled back.
_ROLLED_BACK = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
_NEVER_CREATED = (*_ROLLED_BACK, "REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_FAILED", "ROLLBACK_IN_PROGRESS")


def find_created(name: str, cloudformation: Any) -> set[str]:
    """The names of the created stacks of the environment `name`, in the client's account and region.

    A stack whose creation failed under termination protection loses it: the CDK could not delete it, and never could
    create it. Raises BotoCoreError and ClientError.
    """
    created = set()
    for page in cloudformation.get_paginator("describe_stacks").paginate():
        for stack in page["Stacks"]:
            if not re.fullmatch(rf"gleaner-{re.escape(name)}-[a-z]+", stack["StackName"]):
                continue
            if stack["StackStatus"] not in _NEVER_CREATED:
                created.add(stack["StackName"])
            elif stack["StackStatus"] in _ROLLED_BACK and stack.get("EnableTerminationProtection"):
                cloudformation.update_termination_protection(
                    StackName=stack["StackName"], EnableTerminationProtection=False
                )
    return created


def as_context(created: set[str]) -> dict[str, str]:
    """The context that hands these names to the stacks."""
    return {CREATED_STACKS: ",".join(sorted(created))}
