"""`gleaner keywords prune` and `restore`: prune keywords by hand and undo it."""

from __future__ import annotations

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
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.keyword_names import resolve_keyword_id
from gleaner_local.commands.options import ApiKey, AsJson, ServiceDataDir, Token, Url

_AGE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([dhw]?)")
_DAYS_PER_UNIT = {"": 1.0, "d": 1.0, "h": 1 / 24, "w": 7.0}
_MAX_DAYS = 36_500
_MAX_USES = 1_000_000_000
_MAX_ROWS = 50


def parse_age(age: str) -> float:
    """Convert to days an age such as `90d`, `12h`, `4w` or `30`. Raises typer.BadParameter."""
    match = _AGE_PATTERN.fullmatch(age.strip())
    days = float(match[1]) * _DAYS_PER_UNIT[match[2]] if match else 0.0
    if not 0 < days <= _MAX_DAYS:
        raise typer.BadParameter("use a number of days, hours or weeks, such as 90d, 12h or 4w, at most 100 years")
    return days


def prune(
    older_than: Annotated[str, typer.Option(help="Age since the last use, such as 90d.")] = "90d",
    used_less_than: Annotated[
        int, typer.Option(min=0, max=_MAX_USES, help="Prune only keywords with fewer uses in total.")
    ] = 3,
    apply: Annotated[bool, typer.Option("--apply", help="Prune; without it, only show what would be pruned.")] = False,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Prune keywords by age and use; a dry run unless --apply is given."""
    rules = {"max_age_days": parse_age(older_than), "min_usage": used_less_than}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    preview = client.call("POST", "/api/keywords/prune", json=rules | {"dry_run": True})
    reports = _prune_all(client, rules, preview["candidate_count"]) if apply else iter((preview,))
    same_caller = bool(api_key or token)
    for report in reports:  # printed at once: an interrupted command has then shown how to undo its runs
        if as_json:
            print(terminal.format_json(report), flush=True)
        else:
            _print_report(report, url, data_dir, same_caller=same_caller)


def restore(
    keyword: Annotated[str | None, typer.Argument(help="The keyword to restore: its id or its text.")] = None,
    run: Annotated[str | None, typer.Option(help="Restore all keywords that this run pruned.")] = None,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Restore a pruned keyword, or all keywords of a run."""
    if (keyword is None) == (run is None):
        raise typer.BadParameter("give a keyword, or a run with --run")
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    body = {"run_id": run} if keyword is None else {"keyword_id": resolve_keyword_id(client, keyword)}
    result = client.call("POST", "/api/keywords/restore", json=body)
    print(f"{result['restored_count']} restored.")


def _prune_all(client: ApiClient, rules: dict[str, Any], expected: int) -> Iterator[dict[str, Any]]:
    """Prune until nothing is left and yield the report of each call; a call is one run, limited by the service."""
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


def _print_report(report: dict[str, Any], url: str | None, data_dir: Path | None, *, same_caller: bool) -> None:
    console = Console(highlight=False)
    report = terminal.show_fields(report)
    table = Table("keyword", "uses", "last used", "why", box=None)
    for candidate in report["candidates"][:_MAX_ROWS]:
        table.add_row(
            escape(candidate["keyword_text"]),
            str(candidate["usage_count"]),
            candidate["last_used_at"][:10],
            candidate["reason"],
        )
    if report["candidates"]:
        console.print(table)
    if report["dry_run"]:
        console.print(f"{report['candidate_count']} would be pruned. Nothing was changed; --apply prunes them.")
    else:
        service = ("--url", url) if url else ()
        undo = command_line.format_command(
            "keywords", "restore", "--run", report["run_id"], *service, data_dir=data_dir
        )
        credentials = ", with the same --api-key or --token" if same_caller else ""
        line = f"{report['pruned_count']} pruned in run {report['run_id']}. To undo{credentials}: {undo}"
        console.print(line, markup=False, soft_wrap=True)
    if not report["finished"] and not report["pruned_count"]:
        console.print("The time ran out before all keywords were checked: there may be more.")
