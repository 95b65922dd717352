"""`gleaner ask`: asks a question and prints the answer with its sources."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from gleaner_local.clients.http_api import ApiClient, NotServed
from gleaner_local.commands import presentation, terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.live_answer import show_as_it_comes
from gleaner_local.commands.options import ApiKey, AsJson, KbId, ServiceDataDir, Token, Url


def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    session: Annotated[str | None, typer.Option(help="Continue this session.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask past the web answers that were learned earlier.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a question and print the answer with its sources; on a terminal, as it comes."""
    query = _read_standard_input() if question == "-" else question
    fields: dict[str, object] = {
        "query": query,
        "kb_id": kb_id,
        "session_id": session,
        "fresh": fresh or None,
    }
    body = {name: value for name, value in fields.items() if value is not None}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token)
    console = Console(highlight=False)
    if console.is_terminal and not as_json and _follow(client, body, query, console):
        return
    answer = client.call("POST", "/api/chat/query", json=body)
    if as_json:
        print(terminal.format_json(answer))
    else:
        presentation.show_answer(answer, query)


def _follow(client: ApiClient, body: dict[str, object], question: str, console: Console) -> bool:
    """Show the answer as it comes. False if the service is of a version that sends answers whole."""
    try:
        show_as_it_comes(client.follow("/api/chat/stream", json=body), question, console)
    except NotServed:
        return False
    return True


def _read_standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError:
        raise typer.BadParameter("standard input is not UTF-8 text") from None
