"""`gleaner keywords`: shows what the service has learned."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from gleaner_local.aws.api_gateway import ADMIN_CALLER
from gleaner_local.clients.http_api import ApiClient
from gleaner_local.commands import prune as prune_command
from gleaner_local.commands import terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.forget import forget
from gleaner_local.commands.keyword_names import resolve_keyword_id
from gleaner_local.commands.options import AnswerId, ApiKey, AsJson, KbId, ServiceDataDir, Token, Url

app = typer.Typer(no_args_is_help=True, help="What the service has learned.")

app.command("prune")(prune_command.prune)
app.command("restore")(prune_command.restore)
app.command("forget")(forget)


@app.command("list")
def list_keywords(
    q: Annotated[
        str | None, typer.Option("--query", "-q", help="Words to look up; lists the most recent ones by default.")
    ] = None,
    kb_id: KbId = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many to list.")] = 20,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    doubtful: Annotated[
        bool, typer.Option("--doubtful", help="List stored web answers that two callers rated 1 or 2 instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List keywords."""
    options = {"q": q, "kb_id": kb_id, "limit": limit}
    parameters = {name: value for name, value in options.items() if value is not None}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    if doubtful:
        _list_doubtful(client, as_json=as_json)
        return
    page = client.call("GET", "/api/keywords", params=parameters)
    if as_json:
        print(terminal.format_json(page))
        return
    table = Table(Column("id", overflow="fold", min_width=32), "keyword", "uses", "last used", box=None)
    for keyword in terminal.show_fields(page)["keywords"]:
        table.add_row(
            keyword["keyword_id"],
            escape(keyword["keyword_text"]),
            str(keyword["usage_count"]),
            _format_minute(keyword["last_used_at"]),
        )
    Console(highlight=False).print(table if page["keywords"] else "No keywords.")


@app.command("show")
def show_keyword(
    keyword: Annotated[str, typer.Argument(help="Its id or its text.")],
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a keyword with its associations and stored web answers."""
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    details = client.call("GET", f"/api/keywords/{resolve_keyword_id(client, keyword)}")
    if as_json:
        print(terminal.format_json(details))
    else:
        _print_details(details)


@app.command("approve")
def approve(
    answer: AnswerId,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Hand a doubtful stored web answer out again, until callers rate it poor anew."""
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token, caller=ADMIN_CALLER)
    client.call("DELETE", f"/api/keywords/answers/{answer}/doubts")
    print(f"{answer} is handed out again.")


def _list_doubtful(client: ApiClient, *, as_json: bool) -> None:
    answers = client.call("GET", "/api/keywords/answers")
    if as_json:
        print(terminal.format_json(answers))
        return
    console = Console(highlight=False)
    for item in terminal.show_fields(answers)["answers"]:
        stored = item["answer"]
        console.print(f"[bold]{stored['perplexity_result_id']}[/bold]  rated poor by {item['doubt_count']} callers")
        console.print(f"Asked: {stored['query']}\n{stored['answer']}\n", markup=False, soft_wrap=True)
    if not answers["answers"]:
        console.print("No doubtful answers.")


def _print_details(details: dict[str, Any]) -> None:
    console = Console(highlight=False)
    raw_answers = [answer["answer"] for answer in details["answers"]]
    details = terminal.show_fields(details)
    keyword = details["keyword"]
    console.print(f"[bold]{escape(keyword['keyword_text'])}[/bold]  {keyword['keyword_id']}")
    console.print(
        f"{keyword['status']}, {keyword['usage_count']} uses, learned {_format_minute(keyword['created_at'])}, "
        f"last used {_format_minute(keyword['last_used_at'])}\n"
    )
    table = Table("when", "kb", "query", "web answer", "status", title="Associations", title_justify="left", box=None)
    for association in details["associations"]:
        table.add_row(
            _format_minute(association["created_at"]),
            association["kb_id"],
            association["query_id"] or "",
            association["perplexity_result_id"] or "(served)",
            association["status"],
        )
    console.print(table)
    for answer, text in zip(details["answers"], raw_answers, strict=True):
        console.print(f"\n[bold]{answer['perplexity_result_id']}[/bold]  {_format_minute(answer['created_at'])}")
        console.print(f"Answers: {answer['answers']}", markup=False)
        console.print(f"Asked: {answer['query']}\n{terminal.show_block(text)}", markup=False)
        for number, citation in enumerate(answer["citations"], start=1):
            console.print(f"  [{number}] {citation['title']} <{citation['url']}>", markup=False, soft_wrap=True)


def _format_minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
