"""`gleaner doctor`: checks configuration and services, and says what to do about what is wrong."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner_local.options import ApiKey, DataDir, default_data_dir

if TYPE_CHECKING:
    from gleaner_local.diagnosis.finding import Finding

_OUTPUTS = Path("cdk.out")


def _checked_name(value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[a-z][a-z0-9-]{0,30}", value):
        raise typer.BadParameter("an environment is named by small letters, digits and -")
    return value


EnvironmentName = Annotated[
    str | None, typer.Option(help="A deployed environment: dev, staging or prod.", callback=_checked_name)
]


def doctor(
    url: Annotated[
        str | None, typer.Option(help="A running API; with --env, where that environment's answers.")
    ] = None,
    env: EnvironmentName = None,
    data_dir: DataDir = default_data_dir,
    api_key: ApiKey = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check configuration and services, and say what to do; the exit code is 1 when something is wrong."""
    from gleaner_local.diagnosis.finding import State  # only this command needs what diagnoses

    found = []
    for finding in _findings(url, env, data_dir, api_key):
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


def _findings(url: str | None, env: str | None, data_dir: Path, api_key: str | None) -> Iterator[Finding]:
    if env is not None:
        from gleaner_local.diagnosis.aws import Account
        from gleaner_local.diagnosis.environment import EnvironmentCheck

        outputs = _OUTPUTS / f"outputs-{env}.json"
        control = os.environ.get("PINECONE_CONTROLLER_HOST")
        return EnvironmentCheck(env, Account(), outputs_file=outputs, url=url, control_host=control).findings()
    if url is not None:
        from gleaner_local.diagnosis.http_api import check_api

        return check_api(url, api_key=api_key, key_name="the key of --api-key", hint="Give a key with --api-key.")
    from gleaner_local.diagnosis.here import HereCheck

    return HereCheck(data_dir, os.environ).findings()
