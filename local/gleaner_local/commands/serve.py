"""`gleaner serve`: runs the whole service on this machine."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from gleaner.runtime.settings import read_default_kb_id
from gleaner_local.command_line import default_data_dir
from gleaner_local.commands import presentation
from gleaner_local.commands.ingest import claim
from gleaner_local.commands.options import DataDir
from gleaner_local.commands.prune import age_in_days

DEFAULT_PORT = 8000


def _checked_files(paths: list[Path] | None) -> list[Path] | None:
    from gleaner_documents.reading import is_known_type

    for path in paths or ():
        if not path.exists():
            raise typer.BadParameter(f"{path} does not exist")
        if not (path.is_dir() or is_known_type(path.name)):
            raise typer.BadParameter(f"{path} is none of Markdown, text, HTML or PDF")
        if not os.access(path, os.R_OK):
            raise typer.BadParameter(f"{path} cannot be read")
    return paths


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
    from gleaner_local.service.run import LocalService  # only this command needs the local servers

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


def _load(index_host: str, data_dir: Path, paths: list[Path]) -> None:
    if not paths:
        return
    from gleaner.clients import pinecone
    from gleaner_local.commands.ingest_output import run_ingest
    from gleaner_local.service.parts import LOCAL_KEY

    key = os.environ.get("PINECONE_API_KEY") or LOCAL_KEY
    knowledge_base = pinecone.connect(host=index_host, api_key=lambda: key)
    kb_id = read_default_kb_id(os.environ)
    claim(data_dir, paths, kb_id, None)
    run_ingest(paths, kb_id=kb_id, knowledge_base=knowledge_base, prune=False)
