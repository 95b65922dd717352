"""`gleaner verify`: checks the whole workflow of a service over its HTTP API."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import ApiClient
from gleaner_local.commands.connection import connect, is_here
from gleaner_local.commands.options import ApiKey, KbId, ServiceDataDir, Token, Url

COVERED = "How are duplicate keywords merged?"
UNCOVERED = "What is Starlette?"
_SOMEBODY_ELSE = "somebody-else"  # on a local service the key names the caller


def verify(
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    covered: Annotated[str, typer.Option(help="A question that the knowledge base answers.")] = COVERED,
    uncovered: Annotated[str, typer.Option(help="A question that it does not answer.")] = UNCOVERED,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcomes as JSON.")] = False,
) -> None:
    """Check the whole workflow of a service, here or deployed; the exit code is 1 when a check fails."""
    from gleaner_local.verification import plan  # only this command needs the models of the API

    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token)
    caller_is_free = not client.credentials and is_here(client.url)
    other = ApiClient(client.url, Credentials(api_key=_SOMEBODY_ELSE)) if caller_is_free else None
    checks = plan.plan(client, other=other, kb_id=kb_id, covered=covered, uncovered=uncovered)
    tried = []
    for result in plan.run_checks(checks):
        tried.append(result)
        if not as_json:
            print(f"{result.outcome:<8}{result.name:<20}{' '.join(result.seen.split())}", flush=True)
    failed = sum(result.outcome is plan.Outcome.FAILED for result in tried)
    if as_json:
        outcomes = [asdict(result) for result in tried]
        print(json.dumps({"url": client.url, "failed": failed, "checks": outcomes}, indent=2, ensure_ascii=False))
    else:
        print(f"{client.url}: {failed} of {len(tried)} checks failed" if failed else f"{client.url}: no check failed")
    raise typer.Exit(1 if failed else 0)
