"""`gleaner verify`: checks the complete workflow of a service over its HTTP API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import ApiClient
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import connect, is_on_this_machine
from gleaner_local.commands.options import ApiKey, KbId, ServiceDataDir, Token, Url

COVERED = "How are duplicate keywords merged?"
UNCOVERED = "What is Starlette?"
_OTHER_API_KEY = "somebody-else"  # a local service takes the key as the name of the caller


def verify(
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    covered: Annotated[str, typer.Option(help="A question that the knowledge base answers.")] = COVERED,
    uncovered: Annotated[str, typer.Option(help="A question that the knowledge base does not answer.")] = UNCOVERED,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcomes as JSON.")] = False,
) -> None:
    """Check the complete workflow of a service, local or deployed; the exit code is 1 if a check fails."""
    from gleaner_local.verification import plan  # only this command needs the models of the API

    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token)
    can_choose_caller = not client.credentials and is_on_this_machine(client.url)
    other = ApiClient(client.url, Credentials(api_key=_OTHER_API_KEY)) if can_choose_caller else None
    checks = plan.plan(client, other=other, kb_id=kb_id, covered=covered, uncovered=uncovered)
    results = []
    for result in plan.run_checks(checks):
        results.append(result)
        if not as_json:
            print(
                f"{result.outcome:<8}{result.name:<20}{terminal.show_line(' '.join(result.seen.split()))}", flush=True
            )
    failed = sum(result.outcome is plan.Outcome.FAILED for result in results)
    if as_json:
        outcomes = [asdict(result) for result in results]
        print(terminal.format_json({"url": client.url, "failed": failed, "checks": outcomes}))
    else:
        print(f"{client.url}: {failed} of {len(results)} checks failed" if failed else f"{client.url}: no check failed")
    raise typer.Exit(1 if failed else 0)
