"""`gleaner keywords prune` and `restore`: pruning by hand, and the way back."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from gleaner_local.api_client import ApiClient
from gleaner_local.api_gateway import ADMIN_CALLER
from gleaner_local.options import AsJson, DataDir, Url, default_data_dir

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([dhw]?)")
_DAYS = {"": 1.0, "d": 1.0, "h": 1 / 24, "w": 7.0}
_SHOWN = 50


def age_in_days(age: str) -> float:
    """Days of an age such as `90d`, `12h`, `4w` or `30`. Raises typer.BadParameter."""
    match = _AGE.fullmatch(age.strip())
    if match is None or float(match[1]) == 0:
        raise typer.BadParameter("use a number of days, hours or weeks, such as 90d, 12h or 4w")
    return float(match[1]) * _DAYS[match[2]]


def prune(
    older_than: Annotated[str, typer.Option(help="Age since the last use, such as 90d.")] = "90d",
    used_less_than: Annotated[int, typer.Option(min=0, help="Uses in all.")] = 3,
    apply: Annotated[bool, typer.Option("--apply", help="Really prune; without, only show what would go.")] = False,
    url: Url = None,
    data_dir: DataDir = default_data_dir,
    as_json: AsJson = False,
) -> None:
    """Prune keywords by age and use; a dry run unless --apply is given."""
    client = ApiClient(url, data_dir, caller=ADMIN_CALLER)
    rules = {"max_age_days": age_in_days(older_than), "min_usage": used_less_than}
    report = client.call("POST", "/api/keywords/prune", json=rules | {"dry_run": True})
    if apply:
        report = _apply(client, rules, report["candidate_count"])
    if as_json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        _show(report)


def restore(
    keyword_id: Annotated[str | None, typer.Argument(help="The keyword to bring back.")] = None,
    run: Annotated[str | None, typer.Option(help="Bring back all that this run pruned.")] = None,
    url: Url = None,
    data_dir: DataDir = default_data_dir,
) -> None:
    """Bring a pruned keyword, or a whole run, back."""
    if (keyword_id is None) == (run is None):
        raise typer.BadParameter("name a keyword id, or a run with --run")
    body = {"keyword_id": keyword_id} if keyword_id else {"run_id": run}
    result = ApiClient(url, data_dir, caller=ADMIN_CALLER).call("POST", "/api/keywords/restore", json=body)
    print(f"{result['restored_count']} restored.")


def _apply(client: ApiClient, rules: dict[str, Any], expected: int) -> dict[str, Any]:
    """Prune until it is finished; each call is one run, as long as the service gives it."""
    columns = (TextColumn("Pruning"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("Pruning", total=expected)
        while True:
            report = client.call("POST", "/api/keywords/prune", json=rules | {"dry_run": False})
            bar.advance(task, report["pruned_count"])
            if report["finished"] or not report["pruned_count"]:
                return report


def _show(report: dict[str, Any]) -> None:
    console = Console(highlight=False)
    table = Table("keyword", "uses", "last used", "why", box=None)
    for found in report["candidates"][:_SHOWN]:
        table.add_row(found["keyword_text"], str(found["usage_count"]), found["last_used_at"][:10], found["reason"])
    if report["candidates"]:
        console.print(table)
    if report["dry_run"]:
        console.print(f"{report['candidate_count']} would be pruned. Nothing was changed; --apply prunes them.")
    else:
        undo = f"gleaner keywords restore --run {report['run_id']}"
        console.print(f"{report['pruned_count']} pruned in run {report['run_id']}. To undo: {undo}", soft_wrap=True)
