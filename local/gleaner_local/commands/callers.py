"""`gleaner callers erase`: erases what a caller left."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from gleaner_local.aws.api_gateway import ADMIN_CALLER
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.options import ApiKey, AsJson, ServiceDataDir, Token, Url

app = typer.Typer(no_args_is_help=True, help="Who asks questions.")


@app.callback()
def callers() -> None:
    """Who asks questions."""


@app.command("erase")
def erase(
    caller: Annotated[str, typer.Argument(help="Its id, such as key:ID, cognito:SUB, iam:ARN or anonymous.")],
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before erasing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a caller's sessions, tool calls and ratings, and what only this caller taught; safe to repeat."""
    if not yes:
        typer.confirm(f"Erase all that {terminal.show_line(caller)} left? This cannot be undone", abort=True, err=True)
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    path = f"/api/callers/{quote(quote(caller, safe=':'), safe=':')}"
    total: dict[str, Any] = {}
    while not total.get("finished"):
        report = client.call("DELETE", path)
        total = report | {name: n + total.get(name, 0) for name, n in report.items() if type(n) is int}
    if as_json:
        print(terminal.format_json(total))
        return
    total = terminal.show_fields(total)
    console = Console(highlight=False)
    counts = (f"{count} {name.replace('_', ' ')}" for name, count in total.items() if type(count) is int)
    console.print(f"Erased {total['caller_id']}: {', '.join(counts)}.", markup=False, soft_wrap=True)
