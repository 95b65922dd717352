"""`gleaner serve`: runs the complete service on this machine."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner.document_files import UPLOADS
from gleaner.runtime.settings import read_default_kb_id
from gleaner_documents.reading import format_names, is_known_type
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import presentation, terminal
from gleaner_local.commands.ingest import claim_roots
from gleaner_local.commands.options import DataDir, KbId
from gleaner_local.commands.prune import parse_age
from gleaner_local.errors import CannotStart

if TYPE_CHECKING:
    from gleaner_local.service.run import LocalService

DEFAULT_PORT = 8000
# For an index that takes nothing: longer than the minute of its limits. Questions are answered after it.
_MAX_WAIT_SECONDS = 90.0
_OF_HANDBOOK = "05-keywords-and-learning.md"  # the file that holds the answer to the suggested question


def _check_paths(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or ():
        if not path.exists():
            raise typer.BadParameter(f"{path} does not exist")
        if not (path.is_dir() or is_known_type(path.name)):
            raise typer.BadParameter(f"{path} has none of the known formats: {', '.join(format_names())}")
        if not os.access(path, os.R_OK):
            raise typer.BadParameter(f"{path} cannot be read")
    return paths


def _check_watched(paths: list[Path] | None) -> list[Path] | None:
    """The absolute paths: the name of `..` is that of the directory."""
    roots: dict[str, Path] = {}
    for path in paths or ():
        if not path.is_dir():
            raise typer.BadParameter(f"{path} is not a directory")
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would rename a linked directory
        name = absolute.name
        if name in ("", UPLOADS):
            raise typer.BadParameter(f"{path} cannot be watched: {UPLOADS}/ is for the page, and / has no name")
        if (other := roots.setdefault(name, absolute)) is not absolute:
            raise typer.BadParameter(f"{other} and {absolute} have the same name; rename one of them")
    return list(roots.values())


def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 picks a free one.", min=0, max=65535)] = DEFAULT_PORT,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    load: Annotated[
        list[Path] | None, typer.Option(help="File or directory to ingest first.", callback=_check_paths)
    ] = None,
    watch: Annotated[
        list[Path] | None,
        typer.Option(
            help="Directory whose documents are kept up to date while the service runs.", callback=_check_watched
        ),
    ] = None,
    kb_id: KbId = None,
    prune_every: Annotated[str | None, typer.Option(help="Prune on a schedule, such as 1h or 1d.")] = None,
    concurrency: Annotated[int, typer.Option(help="Questions that are answered concurrently.", min=1)] = 4,
    deadline: Annotated[
        float | None,
        typer.Option(
            help="Seconds for one question; 25 by default, or 300 with a model of your own on this machine.",
            min=1,
            max=3600,
        ),
    ] = None,
) -> None:
    """Run the complete service on this machine."""
    from gleaner_local.service.run import LocalService  # only this command needs the local servers

    hours = parse_age(prune_every) * 24 if prune_every else None
    service = LocalService(
        data_dir,
        os.environ,
        port=port,
        concurrency=concurrency,
        prune_hours=hours,
        deadline_seconds=deadline,
    )
    if watch and service.documents_are_elsewhere:
        raise CannotStart("DOCUMENTS_BUCKET is set: a bucket elsewhere holds the documents. Unset it to use --watch.")
    _raise_file_limit()
    target = kb_id or read_default_kb_id(os.environ)
    _run(service, data_dir, load or [], watch or [], target)


def _run(service: LocalService, data_dir: Path, paths: list[Path], watched: list[Path], kb_id: str) -> None:
    """Start the service, load `paths`, and serve and watch until a signal asks for the stop."""
    stop_requested = threading.Event()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C: aborts the start or the load
    try:
        service.start(before_gateway=lambda host: _load_documents(host, data_dir, paths, watched, kb_id))
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: stop_requested.set())
        presentation.show_started(
            service.url,
            data_dir,
            deadline_seconds=service.deadline_seconds,
            is_empty=service.is_empty and not watched,
            has_handbook=any((path / _OF_HANDBOOK).is_file() for path in (*paths, *watched)),
        )
        with _watch(service, data_dir, watched, kb_id):
            stop_requested.wait()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("Stopping after the running questions. Press Ctrl-C again to cut them off.", flush=True)
    finally:
        service.stop()


def _raise_file_limit() -> None:
    """Allow as many open files as the system lets this process have; many shells allow fewer."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS refuses its own hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


@contextmanager
def _watch(service: LocalService, data_dir: Path, paths: list[Path], kb_id: str) -> Iterator[None]:
    """Keep the knowledge base as the directories are, and print what becomes of each change."""
    if not paths:
        yield
        return
    from gleaner_local.ingestion.watching import watch_directories

    with watch_directories(paths, kb_id, service.documents, data_dir, say=_say):
        yield


def _say(text: str) -> None:
    """Print a line without the controls that file names may hold."""
    print(terminal.show_line(text), flush=True)


def _load_documents(index_host: str, data_dir: Path, paths: list[Path], watched: list[Path], kb_id: str) -> None:
    """Load what `--load` names."""
    claim_roots(data_dir, [*paths, *watched], kb_id, None)
    if not paths:
        return
    from gleaner.clients import pinecone
    from gleaner_documents.reading_process import stop_shared_process
    from gleaner_local.commands.ingest_output import ingest_and_report
    from gleaner_local.service.parts import LOCAL_KEY

    key = os.environ.get("PINECONE_API_KEY") or LOCAL_KEY
    knowledge_base = pinecone.connect(host=index_host, api_key=lambda: key, max_pause=None)  # loading has time
    code = ingest_and_report(
        paths, kb_id=kb_id, knowledge_base=knowledge_base, prune=False, max_wait_each=_MAX_WAIT_SECONDS
    )
    if code:
        print(
            "The service starts without what was not loaded; `gleaner ingest` tries it again.",
            flush=True,
        )
    stop_shared_process()
