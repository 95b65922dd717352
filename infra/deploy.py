"""Deploys an environment: `python -m infra.deploy dev STACK [--index-host HOST] [arguments of cdk deploy]`.

STACK is `data`, `documents`, `service`, `watch`, or `*` for all of them. Stacks that keep data are protected once they
exist. After the service it says what became of the new version. The alarms come last and by themselves: if CloudWatch
refuses one, the service is deployed all the same.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import cdk, rollout
from infra.account import open_session
from infra.created_stacks import STACKS, ProtectedRemains, as_context, find_created
from infra.environment import Environment
from infra.environments import ENVIRONMENTS

RunCdk = Callable[[list[str]], int]
Serve = Callable[[], int]
_ALL = "*"
_DATA, _DOCUMENTS, _SERVICE, _WATCH = STACKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What to deploy."""

    environment: str
    stack: str
    index_host: str | None  # None: the one that is deployed
    arguments: Sequence[str]  # of `cdk deploy`
    has_documents: bool = True  # whether the environment has the stack of documents

    @property
    def deploys_data(self) -> bool:
        """Whether the stack is deployed that takes the host: it comes with what uses it, unless that comes alone."""
        alone = any(argument in ("--exclusively", "-e") for argument in self.arguments)
        return self.stack in (_ALL, _DATA) or (self.stack in (_DOCUMENTS, _SERVICE) and not alone)

    def served(self) -> list[str]:
        """The arguments of `cdk deploy` for what callers use; none for the alarms alone."""
        every = (_DATA, _DOCUMENTS, _SERVICE) if self.has_documents else (_DATA, _SERVICE)
        names = {_ALL: every, _WATCH: ()}.get(self.stack, (self.stack,))
        if not names:
            return []
        stacks = [f"gleaner-{self.environment}/{name}" for name in names]
        outputs = ["--outputs-file", f"cdk.out/outputs-{self.environment}.json"]
        return [*stacks, *outputs, *self._parameters(), *self.arguments]

    def protecting(self, stacks: set[str]) -> list[str]:
        """The arguments for these stacks and no others. The file of outputs stays, which this would cut to theirs."""
        prefix = f"gleaner-{self.environment}"
        names = (stack.removeprefix(f"{prefix}-") for stack in sorted(stacks))
        return [*(f"{prefix}/{name}" for name in names), "--exclusively", *self.arguments]

    def watch(self) -> list[str]:
        """The arguments for the alarms; none if they are not to be deployed."""
        if self.stack not in (_ALL, _WATCH):
            return []
        # What was synthesised for the others has these stacks, too.
        assembly = ["--app", "cdk.out"] if self.stack == _ALL else []
        return [f"gleaner-{self.environment}/{_WATCH}", "--exclusively", *assembly, *self.arguments]

    def _parameters(self) -> list[str]:
        if not self.index_host or not self.deploys_data:
            return []
        # Index consoles show the host without https://.
        host = self.index_host if "://" in self.index_host else f"https://{self.index_host}"
        return ["--parameters", f"gleaner-{self.environment}-{_DATA}:PineconeIndexHost={host}"]


def deploy(deployment: Deployment, *, run_cdk: RunCdk, serve: Serve, report: Callable[[], object]) -> int:
    """`serve` what callers use, `report` the new version, then deploy the alarms; returns the exit status.

    `run_cdk` takes arguments of the CDK's command line.
    """
    if deployment.served():
        status = serve()
        if deployment.stack in (_ALL, _SERVICE) and status != cdk.INTERRUPTED:
            report()
        if status != 0:
            return status
    watch = deployment.watch()
    if not watch or (status := run_cdk(["deploy", *watch])) == 0:
        return 0
    if status == cdk.INTERRUPTED:
        return status
    name = deployment.environment
    return _refuse(
        f"gleaner-{name}-watch is not deployed: its alarms, dashboard and saved queries are as they were, or missing. "
        f"The other stacks are not touched by this. Fix it, then: make deploy ENV={name} STACK=watch"
    )


def deploy_kept(deployment: Deployment, *, cloudformation: Any, run_cdk: RunCdk) -> int:
    """Deploy what callers use of an environment that keeps its data; returns the exit status.

    A stack is created without protection, so that a failed creation can be rolled back and repeated. Once a deployment
    has created stacks, also one that failed with another stack, a second one protects them. Raises BotoCoreError,
    ClientError and ProtectedRemains.
    """
    name = deployment.environment
    created = find_created(name, cloudformation)
    status = run_cdk(["deploy", *_pass(created), *deployment.served()])
    if status == cdk.INTERRUPTED:
        return status
    now_created = find_created(name, cloudformation)
    if not (new := now_created - created):
        return status
    print(f"Protecting {', '.join(sorted(new))} against deletion ...", flush=True)
    protected = run_cdk(["deploy", *_pass(now_created), *deployment.protecting(new)])
    return status or protected


def _pass(created: set[str]) -> list[str]:
    return [argument for name, value in as_context(created).items() for argument in ("--context", f"{name}={value}")]


def main(arguments: list[str]) -> int:
    """Deploy what the arguments name; an expected error is one line on standard error."""
    deployment = _parse(arguments)
    environment = next((one for one in ENVIRONMENTS if one.name == deployment.environment), None)
    if environment is None:
        names = ", ".join(one.name for one in ENVIRONMENTS)
        return _refuse(f"There is no environment {deployment.environment}; infra/environments.py has {names}.")
    deployment = replace(deployment, has_documents=environment.documents is not None)
    if objection := _object(deployment):
        return _refuse(objection)
    deployment = replace(deployment, index_host=deployment.index_host or environment.pinecone_index_host)
    try:
        serve = _serve(deployment, keep_data=environment.keep_data)
        return deploy(deployment, run_cdk=cdk.main, serve=serve, report=lambda: _report(environment))
    except KeyboardInterrupt:  # while nothing but AWS is asked; infra.cdk waits for its own
        return cdk.INTERRUPTED
    except ProtectedRemains as error:
        return _refuse(str(error))
    except (BotoCoreError, ClientError) as error:
        return _refuse(f"AWS gives no usable answer: {error}")


def _object(deployment: Deployment) -> str | None:
    """What is wrong with the arguments; None: nothing."""
    if any(argument.partition("=")[0] == "--profile" for argument in deployment.arguments):
        # Only the CDK would use it: stacks and the new version would be looked for in another account.
        return "Name the profile in AWS_PROFILE instead of passing --profile."
    if deployment.index_host and not deployment.deploys_data:
        return "The host of the index is the DataStack's, which this does not deploy. Use STACK=data for it."
    if deployment.stack == _DOCUMENTS and not deployment.has_documents:
        return f"The record of {deployment.environment} has documents=None. Change it in infra/environments.py."
    return None


def _parse(arguments: list[str]) -> Deployment:
    parser = ArgumentParser(prog="python -m infra.deploy", allow_abbrev=False)
    parser.add_argument("environment")
    parser.add_argument("stack", choices=(_ALL, *STACKS))
    parser.add_argument("--index-host")
    own, others = parser.parse_known_args(arguments)
    return Deployment(environment=own.environment, stack=own.stack, index_host=own.index_host, arguments=others)


def _serve(deployment: Deployment, *, keep_data: bool) -> Serve:
    if not keep_data:
        return lambda: cdk.main(["deploy", *deployment.served()])
    client = open_session().client("cloudformation")
    os.environ["AWS_REGION"] = client.meta.region_name  # the CDK has more ways to choose one
    return lambda: deploy_kept(deployment, cloudformation=client, run_cdk=cdk.main)


def _report(environment: Environment) -> int:
    return rollout.main([environment.name], open_session().client)  # type: ignore[arg-type]


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
