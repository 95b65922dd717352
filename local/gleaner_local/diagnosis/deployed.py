"""What commands need to know of a deployed environment."""

from __future__ import annotations

from collections.abc import Mapping

from gleaner_local.diagnosis._stacks import read_stack
from gleaner_local.diagnosis.aws import Account


def find_output(account: Account, stack: str, name: str) -> str | None:
    """The output `name` of the stack; None if there is no such stack or output. Raises BotoCoreError, ClientError."""
    return (find_outputs(account, stack) or {}).get(name)


def find_outputs(account: Account, stack: str) -> Mapping[str, str] | None:
    """The outputs of the stack; None if there is no such stack. Raises BotoCoreError and ClientError."""
    found = read_stack(account.client("cloudformation"), stack)
    return found.outputs if found else None
