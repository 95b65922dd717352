"""Which stacks of an environment exist, in the sense that their creation has succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

STACKS = ("data", "documents", "service", "watch")  # of an environment, in the order in which they are created

# The context by which `infra.deploy` names them to the stacks, separated by commas.
CREATED_STACKS = "created-stacks"

# A stack in one of these states holds nothing that a deployment completed. The CDK deletes those that were rolled back.
_ROLLED_BACK = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
_NEVER_CREATED = (*_ROLLED_BACK, "REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_FAILED", "ROLLBACK_IN_PROGRESS")


class ProtectedRemains(RuntimeError):
    """What is left of a failed creation is protected against deletion, and these credentials cannot change that."""


def find_created(name: str, cloudformation: Any) -> set[str]:
    """The names of the created stacks of the environment `name`, in the client's account and region.

    A stack whose creation failed under termination protection loses it: the CDK could not delete it, and never could
    create it. Raises BotoCoreError, ClientError and, if the credentials do not suffice for that, ProtectedRemains.
    """
    created = set()
    for stack_name in (f"gleaner-{name}-{stack}" for stack in STACKS):
        stack = _describe(stack_name, cloudformation)
        if stack is None:
            continue
        if stack["StackStatus"] not in _NEVER_CREATED:
            created.add(stack_name)
        elif stack["StackStatus"] in _ROLLED_BACK and stack.get("EnableTerminationProtection"):
            _release(stack_name, cloudformation)
    return created


def _release(stack_name: str, cloudformation: Any) -> None:
    """Take the termination protection from a stack."""
    try:
        cloudformation.update_termination_protection(StackName=stack_name, EnableTerminationProtection=False)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
            raise
        raise ProtectedRemains(
            f"The creation of {stack_name} failed, and what is left is protected against deletion. These credentials "
            "may not change that. With others: aws cloudformation update-termination-protection "
            f"--no-enable-termination-protection --stack-name {stack_name}. Then deploy again."
        ) from error


def _describe(stack_name: str, cloudformation: Any) -> Mapping[str, Any] | None:
    """The stack; None if there is none. By its name, because the pipeline's role may not list those of others."""
    try:
        (stack,) = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    found: Mapping[str, Any] = stack
    return found


def as_context(created: set[str]) -> dict[str, str]:
    """The context that hands these names to the stacks."""
    return {CREATED_STACKS: ",".join(sorted(created))}
