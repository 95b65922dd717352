"""`gleaner doctor`: checks configuration and services, and says what to do about what is wrong."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner_local.command_line import default_data_dir
from gleaner_local.commands.connection import named
from gleaner_local.commands.options import ApiKey, ServiceDataDir, Token, Url

if TYPE_CHECKING:
    from gleaner_local.clients.credentials import Credentials
    from gleaner_local.diagnosis.finding import Finding

_OUTPUTS = Path("cdk.out")


def _checked_name(value: str | None) -> str | None:
    if value is None:
        return None
    from infra.environments import ENVIRONMENTS  # its records alone, which need nothing of the CDK

    names = [environment.name for environment in ENVIRONMENTS]
    if value not in names:
        raise typer.BadParameter(f"there is no such environment; infra/environments.py has {', '.join(names)}")
    return value


EnvironmentName = Annotated[
    str | None, typer.Option(help="A deployed environment, such as dev.", callback=_checked_name)
]


def doctor(
    url: Url = None,
    env: EnvironmentName = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Also make two model calls and a web search, which cost money.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check configuration and services, and say what to do; the exit code is 1 when something is wrong.

    Of this machine; or of the API at --url; or of the environment --env, with --url if it answers elsewhere.
    """
    from gleaner_local.diagnosis.finding import State  # only this command needs what diagnoses

    found = []
    _check_options(url, env, data_dir, has_credentials=bool(api_key or token), ask=ask)
    credentials = named(api_key=api_key, token=token, remote=True)
    for finding in _findings(url, env, data_dir or default_data_dir, credentials, ask=ask):
        found.append(finding)
        if not as_json:
            line = f"{finding.seen} {finding.remedy}".rstrip()
            print(f"{finding.state:<9}{finding.subject:<16}{' '.join(line.split())}", flush=True)
    problems = sum(finding.state is State.PROBLEM for finding in found)
    if as_json:
        print(json.dumps({"problems": problems, "findings": [asdict(one) for one in found]}, indent=2))
    else:
        print(f"{problems} of {len(found)} findings need something done." if problems else "All is well.")
    raise typer.Exit(1 if problems else 0)


def _check_options(
    url: str | None, env: str | None, data_dir: Path | None, *, has_credentials: bool, ask: bool
) -> None:
    if data_dir is not None and (url or env):
        raise typer.BadParameter("--data-dir belongs to a service of this machine: leave out --url and --env")
    if url is None and env is None and has_credentials:
        raise typer.BadParameter("--api-key and --token are for the API that --url or --env names")
    if ask and url and env is None:
        raise typer.BadParameter("--ask needs the keys of the model and the web search: use --env, or leave out --url")


def _findings(
    url: str | None, env: str | None, data_dir: Path, credentials: Credentials, *, ask: bool
) -> Iterator[Finding]:
    if ask:  # the findings say what the clients would log
        logging.getLogger("gleaner.clients").addHandler(logging.NullHandler())
    if env is not None:
        from gleaner_local.diagnosis.aws import Account
        from gleaner_local.diagnosis.environment import EnvironmentCheck

        outputs = _OUTPUTS / f"outputs-{env}.json"
        control = os.environ.get("PINECONE_CONTROLLER_HOST")
        check = EnvironmentCheck(
            env, Account(), outputs_file=outputs, url=url, control_host=control, credentials=credentials, ask=ask
        )
        return check.findings()
    if url is not None:
        from gleaner_local.diagnosis.http_api import check_api

        return check_api(url, credentials, hint="Say who you are with --api-key or --token.")
    from gleaner_local.diagnosis.here import LocalCheck

    return LocalCheck(data_dir, os.environ, ask=ask).findings()
