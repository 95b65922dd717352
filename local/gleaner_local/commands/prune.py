"""`gleaner keywords prune` and `restore`: pruning by hand, and the way back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from gleaner_local import command_line
from gleaner_local.aws.api_gateway import ADMIN_CALLER
from gleaner_local.clients.http_api import ApiClient
from gleaner_local.commands.connection import connect
from gleaner_local.commands.keyword_names import keyword_id
from gleaner_local.commands.options import ApiKey, AsJson, ServiceDataDir, Token, Url

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([dhw]?)")
_DAYS = {"": 1.0, "d": 1.0, "h": 1 / 24, "w": 7.0}
_LONGEST_DAYS = 36_500
_MOST_USES = 1_000_000_000
_SHOWN = 50


def age_in_days(age: str) -> float:
    """Days of an age such as `90d`, `12h`, `4w` or `30`. Raises typer.BadParameter."""
    match = _AGE.fullmatch(age.strip())
    days = float(match[1]) * _DAYS[match[2]] if match else 0.0
    if not 0 < days <= _LONGEST_DAYS:
        raise typer.BadParameter("use a number of days, hours or weeks, such as 90d, 12h or 4w, at most 100 years")
    return days


def prune(
    older_than: Annotated[str, typer.Option(help="Age since the last use, such as 90d.")] = "90d",
    used_less_than: Annotated[int, typer.Option(min=0, max=_MOST_USES, help="Uses in all.")] = 3,
    apply: Annotated[bool, typer.Option("--apply", help="Really prune; without, only show what would go.")] = False,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Prune keywords by age and use; a dry run unless --apply is given."""
    rules = {"max_age_days": age_in_days(older_than), "min_usage": used_less_than}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    report = client.call("POST", "/api/keywords/prune", json=rules | {"dry_run": True})
    reports = _apply(client, rules, report["candidate_count"]) if apply else iter((report,))
    same_caller = bool(api_key or token)
    for done in reports:  # each is told at once: a command that is interrupted has told how its runs are undone
        if as_json:
            print(json.dumps(done, indent=2, ensure_ascii=False), flush=True)
        else:
            _show(done, url, data_dir, same_caller=same_caller)


def restore(
    keyword: Annotated[str | None, typer.Argument(help="The keyword to bring back: its id, or its text.")] = None,
    run: Annotated[str | None, typer.Option(help="Bring back all that this run pruned.")] = None,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Bring a pruned keyword, or a whole run, back."""
    if (keyword is None) == (run is None):
        raise typer.BadParameter("name a keyword, or a run with --run")
    body = {"run_id": run} if keyword is None else {"keyword_id": keyword_id(keyword)}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    result = client.call("POST", "/api/keywords/restore", json=body)
    print(f"{result['restored_count']} restored.")


def _apply(client: ApiClient, rules: dict[str, Any], expected: int) -> Iterator[dict[str, Any]]:
    """Prune until it is finished; each call is one run, as long as the service gives it. Its report."""
    columns = (TextColumn("Pruning"), BarColumn(), MofNCompleteColumn())
    pruned = 0
    while True:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task("Pruning", total=expected, completed=pruned)
            report = client.call("POST", "/api/keywords/prune", json=rules | {"dry_run": False})
        yield report
        pruned += report["pruned_count"]
        if report["finished"] or not report["pruned_count"]:
            return


def _show(report: dict[str, Any], url: str | None, data_dir: Path | None, *, same_caller: bool) -> None:
    console = Console(highlight=False)
    table = Table("keyword", "uses", "last used", "why", box=None)
    for found in report["candidates"][:_SHOWN]:
        table.add_row(
            escape(found["keyword_text"]), str(found["usage_count"]), found["last_used_at"][:10], found["reason"]
        )
    if report["candidates"]:
        console.print(table)
    if report["dry_run"]:
        console.print(f"{report['candidate_count']} would be pruned. Nothing was changed; --apply prunes them.")
    else:
        there = ("--url", url) if url else ()
        undo = command_line.gleaner("keywords", "restore", "--run", report["run_id"], *there, data_dir=data_dir)
        who = ", with the same --api-key or --token" if same_caller else ""
        told = f"{report['pruned_count']} pruned in run {report['run_id']}. To undo{who}: {undo}"
        console.print(told, markup=False, soft_wrap=True)
    if not report["finished"] and not report["pruned_count"]:
        console.print("The time ran out before all was seen: there may be more.")
