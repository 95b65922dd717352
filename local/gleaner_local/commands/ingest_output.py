"""What `gleaner ingest` shows and which exit code it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import GleanerError, InvalidInput
from gleaner_local.ingestion.run import IngestProgress, IngestReport, ingest

_SECONDS_BETWEEN_LINES = 5.0


def run_ingest(
    paths: Sequence[Path],
    *,
    kb_id: str,
    knowledge_base: KnowledgeBase,
    prune: bool,
    root: str | None = None,
    console: Console | None = None,
) -> int:
    """Ingest, with a progress bar on a terminal and plain lines elsewhere, and print what was done.

    Returns the exit code: 0 when everything named was loaded, else 1. Raises nothing of the error tree.
    """
    out = console or Console(highlight=False)
    try:
        with _progress(out) as progress:
            report = ingest(
                paths, kb_id=kb_id, knowledge_base=knowledge_base, prune=prune, progress=progress, root=root
            )
    except InvalidInput as error:  # which the same command would meet again
        _say(out, f"Stopped: {error}")
        return 1
    except GleanerError as error:
        _say(out, f"Stopped: {error}")
        _say(out, "What was loaded until then stays. Run the same command again to go on.")
        return 1
    _summarise(out, report, kb_id)
    return 1 if report.skipped else 0


@contextmanager
def _progress(out: Console) -> Iterator[Callable[[IngestProgress], None]]:
    if not out.is_terminal:
        yield _lines(out)
        return
    counted = TextColumn("files, {task.fields[chunks]} chunks")
    columns = (TextColumn("Loading"), BarColumn(), MofNCompleteColumn(), counted, TimeRemainingColumn())
    with Progress(*columns, console=out) as bar:
        task = bar.add_task("Loading", total=None, chunks=0)
        yield lambda at: bar.update(
            task, total=at.files_total, completed=round(at.files_done, 1), chunks=at.chunks_written
        )


def _lines(out: Console) -> Callable[[IngestProgress], None]:
    last = time.monotonic()

    def show(at: IngestProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            _say(out, f"Loading: {int(at.files_done)} of {at.files_total} files, {at.chunks_written} chunks")

    return show


def _summarise(out: Console, report: IngestReport, kb_id: str) -> None:
    for name in report.removed:
        _say(out, f"Removed {name}")
    for problem in report.skipped:
        _say(out, f"Skipped {problem}")
    parts = [
        f"{len(names)} {verb}"
        for names, verb in (
            (report.loaded, "loaded"),
            (report.replaced, "replaced"),
            (report.unchanged, "unchanged"),
            (report.removed, "removed"),
            (report.skipped, "skipped"),
        )
        if names
    ]
    ignored = f" {report.ignored} of other file types were left out." if report.ignored else ""
    _say(
        out,
        f"Knowledge base {kb_id}: {', '.join(parts) or 'no files found'}; "
        f"{report.chunks_written} chunks written.{ignored}",
    )


def _say(out: Console, text: str) -> None:
    """One line as it is: file names may hold brackets, which rich would read as its markup."""
    out.print(text, markup=False, soft_wrap=True)
