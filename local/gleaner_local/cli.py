"""The `gleaner` command."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from gleaner.errors import GleanerError
from gleaner.settings import default_kb_id
from gleaner_local import doctor_command, index_command, keywords_command, presentation, verify_command
from gleaner_local.api_client import CallFailed
from gleaner_local.connection import connect
from gleaner_local.options import ApiKey, AsJson, DataDir, KbId, ServiceDataDir, Token, Url, default_data_dir
from gleaner_local.prune_command import age_in_days
from gleaner_local.running import NotReady
from gleaner_local.start_failure import CannotStart

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(keywords_command.app, name="keywords")
app.add_typer(index_command.app, name="index")
app.command()(verify_command.verify)
app.command()(doctor_command.doctor)

DEFAULT_PORT = 8000


def _checked_files(paths: list[Path] | None) -> list[Path] | None:
    from gleaner_local.documents.reading import is_known_type

    for path in paths or ():
        if not path.exists():
            raise typer.BadParameter(f"{path} does not exist")
        if not (path.is_dir() or is_known_type(path.name)):
            raise typer.BadParameter(f"{path} is none of Markdown, text, HTML or PDF")
        if not os.access(path, os.R_OK):
            raise typer.BadParameter(f"{path} cannot be read")
    return paths


def _checked_root(value: str | None) -> str | None:
    if value is not None and not (value.strip() and value.isprintable() and "/" not in value):
        raise typer.BadParameter("use a name without a slash, such as that of a directory")
    return value


@app.callback()
def gleaner() -> None:
    """Gleaner answers questions from your documents, and learns from the web what they lack."""


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = DEFAULT_PORT,
    data_dir: DataDir = default_data_dir,
    load: Annotated[
        list[Path] | None, typer.Option(help="File or directory to ingest first.", callback=_checked_files)
    ] = None,
    prune_every: Annotated[str | None, typer.Option(help="Prune on a schedule, such as 1h or 1d.")] = None,
    concurrency: Annotated[int, typer.Option(help="Questions that are answered at once.", min=1)] = 4,
) -> None:
    """Run the whole service on this machine."""
    from gleaner_local.service import LocalService  # only this command needs the local servers

    hours = age_in_days(prune_every) * 24 if prune_every else None
    service = LocalService(data_dir, os.environ, port=port, concurrency=concurrency, prune_hours=hours)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: it gives up what is started or loaded
    try:
        service.start(before_gateway=lambda host: _load(host, data_dir, load or []))
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: stopping.set())
        presentation.show_started(service.url, data_dir)
        stopping.wait()
    finally:
        service.stop()


@app.command()
def ask(
    question: str,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    session: Annotated[str | None, typer.Option(help="Go on with this session.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a question and print the answer with its sources."""
    body = {"query": question, "kb_id": kb_id, "session_id": session}
    sent = {name: value for name, value in body.items() if value is not None}
    client = connect(url=url, data_dir=data_dir, api_key=api_key, token=token)
    answer = client.call("POST", "/api/chat/query", json=sent)
    if as_json:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        presentation.show_answer(answer)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or directories: Markdown, text, HTML, PDF.")],
    data_dir: DataDir = default_data_dir,
    kb_id: KbId = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    root: Annotated[
        str | None, typer.Option(help="Name a directory's files by this, not by its own name.", callback=_checked_root)
    ] = None,
) -> None:
    """Load documents into the knowledge base."""
    if root is not None and not (len(paths) == 1 and paths[0].is_dir()):
        raise typer.BadParameter("--root names one directory: give no other path beside it")
    from gleaner_local.index_access import open_index  # only this command needs the embedded index
    from gleaner_local.ingest_command import run_ingest

    into = kb_id or default_kb_id(os.environ)
    with open_index(data_dir, os.environ) as knowledge_base:
        _claim(data_dir, paths, into, root)
        code = run_ingest(paths, kb_id=into, knowledge_base=knowledge_base, prune=prune, root=root)
    raise typer.Exit(code)


def _claim(data_dir: Path, paths: list[Path], kb_id: str, root: str | None) -> None:
    """Raises InvalidInput when files of another directory of the same name would be replaced."""
    from gleaner_local.known_roots import KnownRoots
    from gleaner_local.source_files import directories

    known = KnownRoots(data_dir, index=os.environ.get("PINECONE_INDEX_HOST") or "here")
    known.claim(directories(paths, name=root), kb_id, confirmed=root is not None)


def _load(index_host: str, data_dir: Path, paths: list[Path]) -> None:
    if not paths:
        return
    from gleaner.clients import pinecone
    from gleaner_local.ingest_command import run_ingest
    from gleaner_local.parts import LOCAL_KEY

    key = os.environ.get("PINECONE_API_KEY") or LOCAL_KEY
    knowledge_base = pinecone.connect(host=index_host, api_key=lambda: key)
    kb_id = default_kb_id(os.environ)
    _claim(data_dir, paths, kb_id, None)
    run_ingest(paths, kb_id=kb_id, knowledge_base=knowledge_base, prune=False)


def main() -> None:
    """Entry point of the `gleaner` command. What cannot be done is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    try:
        app()
    except UnicodeEncodeError:
        print("An argument is not valid text: the terminal must send UTF-8.", file=sys.stderr)
        sys.exit(1)
    except (CannotStart, NotReady, CallFailed, GleanerError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
