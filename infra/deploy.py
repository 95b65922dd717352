"""Deploys an environment, and protects its stacks once they exist: `python -m infra.deploy dev ...`.

The arguments after the environment's name are those of `cdk deploy`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import cdk
from infra.account import open_session
from infra.created_stacks import as_context, find_created
from infra.environments import ENVIRONMENTS

RunCdk = Callable[[list[str]], int]


def deploy_kept(name: str, arguments: Sequence[str], *, cloudformation: Any, run_cdk: RunCdk) -> int:
    """Run `cdk deploy` with these arguments for an environment that keeps its data; returns the exit status.

    A stack is created without protection, so that a failed creation can be rolled back and repeated. Once a deployment
    has created stacks, a second one protects them. Raises BotoCoreError and ClientError.
    """
    created = find_created(name, cloudformation)
    status = run_cdk(["deploy", *_pass(created), *arguments])
    if status != 0:
        return status
    now_created = find_created(name, cloudformation)
    if now_created == created:
        return status
    print(f"Protecting {', '.join(sorted(now_created - created))} against deletion ...", flush=True)
    return run_cdk(["deploy", *_pass(now_created), *arguments])


def _pass(created: set[str]) -> list[str]:
    return [argument for name, value in as_context(created).items() for argument in ("--context", f"{name}={value}")]


def main(name: str, arguments: list[str]) -> int:
    """Deploy the environment of this name; an expected error is one line on standard error."""
    environment = next((one for one in ENVIRONMENTS if one.name == name), None)
    if environment is None:
        names = ", ".join(one.name for one in ENVIRONMENTS)
        return _refuse(f"There is no environment {name}; infra/environments.py has {names}.")
    if not environment.keep_data:
        return cdk.main(["deploy", *arguments])
    if any(argument.partition("=")[0] == "--profile" for argument in arguments):
        # Only the CDK would use it: the stacks would be looked for in another account.
        return _refuse("Name the profile in AWS_PROFILE instead of passing --profile.")
    try:
        client = open_session().client("cloudformation")
        os.environ["AWS_REGION"] = client.meta.region_name  # the CDK has more ways to choose one
        return deploy_kept(name, arguments, cloudformation=client, run_cdk=cdk.main)
    except (BotoCoreError, ClientError) as error:
        return _refuse(f"AWS gives no usable answer: {error}")


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
