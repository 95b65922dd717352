"""`gleaner verify`: checks the whole workflow of a service over its HTTP API."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from gleaner_local.api_client import ApiClient
from gleaner_local.options import ApiKey, DataDir, Url, default_data_dir

COVERED = "How are duplicate keywords merged?"
UNCOVERED = "What is Starlette?"
_SOMEBODY_ELSE = "somebody-else"  # on a local service the key names the caller


def verify(
    url: Url = None,
    data_dir: DataDir = default_data_dir,
    api_key: ApiKey = None,
    kb_id: Annotated[str | None, typer.Option(help="The knowledge base.")] = None,
    covered: Annotated[str, typer.Option(help="A question that the knowledge base answers.")] = COVERED,
    uncovered: Annotated[str, typer.Option(help="A question that it does not answer.")] = UNCOVERED,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcomes as JSON.")] = False,
) -> None:
    """Check the whole workflow of a service, here or deployed; the exit code is 1 when a check fails."""
    from gleaner_local.verification import plan  # only this command needs the models of the API

    client = ApiClient(url, data_dir, caller=api_key)
    caller_is_free = api_key is None and not client.url.startswith("https:")
    other = ApiClient(client.url, data_dir, caller=_SOMEBODY_ELSE) if caller_is_free else None
    checks = plan.plan(client, other=other, kb_id=kb_id, covered=covered, uncovered=uncovered)
    tried = []
    for result in plan.results(checks):
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
