"""What commands need to know of a deployed environment."""

from __future__ import annotations

from gleaner_local.diagnosis._stacks import read_stack
from gleaner_local.diagnosis.aws import Account


def find_output(account: Account, stack: str, name: str) -> str | None:
    """The output `name` of the stack; None if there is no such stack or output. Raises BotoCoreError, ClientError."""
    found = read_stack(account.client("cloudformation"), stack)
    return found.outputs.get(name) if found else None
