"""The `gleaner` command."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, NoReturn

import httpx
import typer

from gleaner_local import presentation
from gleaner_local.service import LOCAL_KEY, CannotStart, LocalService, running_service

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

DEFAULT_PORT = 8000
DEFAULT_DATA_DIR = Path(".gleaner")
_ASK_SECONDS = 60.0

DataDir = Annotated[Path, typer.Option(help="Where everything is kept.")]
KbId = Annotated[str, typer.Option(help="The knowledge base.")]


@app.callback()
def gleaner() -> None:
    """Gleaner answers questions from your documents, and learns from the web what they lack."""


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = DEFAULT_PORT,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    load: Annotated[list[Path] | None, typer.Option(help="File or directory to ingest first.")] = None,
    concurrency: Annotated[int, typer.Option(help="Questions that are answered at once.", min=1)] = 4,
) -> None:
    """Run the whole service on this machine."""
    service = LocalService(data_dir, os.environ, port=port, concurrency=concurrency)
    stopping = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stopping.set())
    try:
        service.start(before_gateway=lambda host: _load(host, load or [], stopping))
    except CannotStart as error:
        _fail(str(error))
    try:
        presentation.show_started(service.url, data_dir)
        stopping.wait()
    finally:
        service.stop()


@app.command()
def ask(
    question: str,
    url: Annotated[str | None, typer.Option(help="The service; by default the one that runs here.")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    kb_id: Annotated[str | None, typer.Option(help="The knowledge base.")] = None,
    session: Annotated[str | None, typer.Option(help="Go on with this session.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as the API gives it.")] = False,
) -> None:
    """Ask a question and print the answer with its sources."""
    base = url or running_service(data_dir).get("url") or f"http://127.0.0.1:{DEFAULT_PORT}"
    body = {"query": question, "kb_id": kb_id, "session_id": session}
    try:
        response = httpx.post(
            f"{base.rstrip('/')}/api/chat/query",
            json={name: value for name, value in body.items() if value is not None},
            timeout=_ASK_SECONDS,
        )
        answer = response.json()
    except (httpx.HTTPError, httpx.InvalidURL):
        _fail(f"No service answers at {base}. Start one with `gleaner serve`, or name one with --url.")
    except json.JSONDecodeError:
        _fail(f"What answers at {base} is not Gleaner.")
    if response.is_error:
        _fail(f"{answer.get('detail', 'The service failed.')} ({answer.get('type', response.status_code)})")
    if as_json:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        presentation.show_answer(answer)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or directories: Markdown, text, HTML, PDF.")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    kb_id: KbId = "default_kb",
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
) -> None:
    """Load documents into the knowledge base."""
    from gleaner_local.index_access import open_index  # only this command needs the embedded index
    from gleaner_local.ingest_command import run_ingest

    try:
        with open_index(data_dir, os.environ) as knowledge_base:
            code = run_ingest(paths, kb_id=kb_id, knowledge_base=knowledge_base, prune=prune)
    except CannotStart as error:
        _fail(str(error))
    raise typer.Exit(code)


def _load(index_host: str, paths: list[Path], stopping: threading.Event) -> None:
    if not paths or stopping.is_set():
        return
    from gleaner.clients.pinecone import connect
    from gleaner_local.ingest_command import run_ingest

    key = os.environ.get("PINECONE_API_KEY") or LOCAL_KEY
    run_ingest(paths, kb_id="default_kb", knowledge_base=connect(host=index_host, api_key=key), prune=False)


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(1)


def main() -> None:
    """Entry point of the `gleaner` command."""
    app()
