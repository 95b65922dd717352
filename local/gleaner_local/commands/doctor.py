"""`gleaner doctor`: checks configuration and services and says how to fix problems."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import choose_credentials
from gleaner_local.commands.options import AnyEnvironmentName, ApiKey, ServiceDataDir, Token, Url

if TYPE_CHECKING:
    from gleaner_local.clients.credentials import Credentials
    from gleaner_local.diagnosis.finding import Finding

_OUTPUTS_DIR = Path("cdk.out")


def doctor(
    url: Url = None,
    env: AnyEnvironmentName = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Also make two model calls and a web search, and with --env ask a question, which cost money."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check configuration and services and say what to do; the exit code is 1 if there is a problem.

    Checks this machine; or the API at --url; or the environment --env, with --url if its API has another address.
    """
    from gleaner_local.diagnosis.finding import State  # only this command needs the diagnosis

    findings = []
    _check_options(url, env, data_dir, has_credentials=bool(api_key or token), ask=ask)
    credentials = choose_credentials(api_key=api_key, token=token, remote=True)
    for finding in _diagnose(url, env, data_dir or DEFAULT_DATA_DIR, credentials, ask=ask):
        findings.append(finding)
        if not as_json:
            line = f"{finding.seen} {finding.remedy}".rstrip()
            print(f"{finding.state:<9}{finding.subject:<16}{terminal.show_line(' '.join(line.split()))}", flush=True)
    problems = sum(finding.state is State.PROBLEM for finding in findings)
    if as_json:
        print(terminal.format_json({"problems": problems, "findings": [asdict(finding) for finding in findings]}))
    else:
        print(f"{problems} of {len(findings)} findings need attention." if problems else "No problems found.")
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


def _diagnose(
    url: str | None, env: str | None, data_dir: Path, credentials: Credentials, *, ask: bool
) -> Iterator[Finding]:
    if ask:  # the findings say what the clients would log
        logging.getLogger("gleaner.clients").addHandler(logging.NullHandler())
    if env is not None:
        from gleaner_local.diagnosis.aws import Account
        from gleaner_local.diagnosis.environment import EnvironmentCheck
        from infra.environments import ENVIRONMENTS

        outputs = _OUTPUTS_DIR / f"outputs-{env}.json"
        record = next((one for one in ENVIRONMENTS if one.name == env), None)
        control = os.environ.get("PINECONE_CONTROLLER_HOST")
        check = EnvironmentCheck(
            env,
            Account(),
            outputs_file=outputs,
            url=url,
            control_host=control,
            credentials=credentials,
            record=record,
            ask=ask,
        )
        return check.findings()
    if url is not None:
        from gleaner_local.diagnosis.http_api import check_api

        return check_api(url, credentials, hint="Pass credentials with --api-key or --token.")
    from gleaner_local.diagnosis.here import LocalCheck

    return LocalCheck(data_dir, os.environ, ask=ask).findings()
