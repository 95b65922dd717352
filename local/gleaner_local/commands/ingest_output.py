"""Runs an ingestion for `gleaner ingest` and `gleaner serve --load`, and shows its progress and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import GleanerError, InvalidInput
from gleaner_local.commands import terminal
from gleaner_local.ingestion.run import IngestProgress, IngestReport, ingest

_SECONDS_BETWEEN_LINES = 5.0
_MAX_KINDS = 20


def ingest_and_report(
    paths: Sequence[Path],
    *,
    kb_id: str,
    knowledge_base: KnowledgeBase,
    prune: bool,
    root: str | None = None,
    base_url: str | None = None,
    console: Console | None = None,
) -> int:
    """Ingest `paths` with a progress bar on a terminal or plain lines elsewhere, and print what was done.

    Returns the exit code: 0 if every given file was loaded or has nothing to read, else 1. Does not raise GleanerError.
    """
    out = console or Console(highlight=False)
    try:
        with _show_progress(out) as progress:
            report = ingest(
                paths,
                kb_id=kb_id,
                knowledge_base=knowledge_base,
                prune=prune,
                progress=progress,
                root=root,
                base_url=base_url,
            )
    except InvalidInput as error:  # running the same command again would not help
        _print_line(out, f"Stopped: {error}")
        return 1
    except GleanerError as error:
        _print_line(out, f"Stopped: {error}")
        _print_line(out, "What was loaded until then stays. Run the same command again to continue.")
        return 1
    _print_summary(out, report, kb_id)
    return 1 if report.skipped else 0


@contextmanager
def _show_progress(out: Console) -> Iterator[Callable[[IngestProgress], None]]:
    if not out.is_terminal:
        yield _print_lines(out)
        return
    chunk_count = TextColumn("files, {task.fields[chunks]} chunks")
    columns = (TextColumn("Loading"), BarColumn(), MofNCompleteColumn(), chunk_count, TimeRemainingColumn())
    with Progress(*columns, console=out) as bar:
        task = bar.add_task("Loading", total=None, chunks=0)
        yield lambda at: bar.update(
            task, total=at.files_total, completed=round(at.files_done, 1), chunks=at.chunks_written
        )


def _print_lines(out: Console) -> Callable[[IngestProgress], None]:
    last = time.monotonic()

    def show(at: IngestProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            _print_line(out, f"Loading: {int(at.files_done)} of {at.files_total} files, {at.chunks_written} chunks")

    return show


def _print_summary(out: Console, report: IngestReport, kb_id: str) -> None:
    for name in report.removed:
        _print_line(out, f"Removed {name}")
    for problem in report.skipped:
        _print_line(out, f"Skipped {problem}")
    for note in report.empty:
        _print_line(out, f"Note: {note}; there is nothing to load")
    parts = [
        f"{len(names)} {verb}"
        for names, verb in (
            (report.loaded, "loaded"),
            (report.replaced, "replaced"),
            (report.unchanged, "unchanged"),
            (report.removed, "removed"),
            (report.empty, "with nothing to read"),
            (report.skipped, "skipped"),
        )
        if names
    ]
    _print_line(
        out,
        f"Knowledge base {kb_id}: {', '.join(parts) or 'no files found'}; "
        f"{report.chunks_written} chunks written.{_left_out(report)}",
    )


def _left_out(report: IngestReport) -> str:
    """The kinds of files that were left out, the most frequent ones first: " Left out: 3 .png, 2 .zip."."""
    kinds = sorted(report.left_out.items(), key=lambda kind: (-kind[1], not kind[0], kind[0]))
    shown = [f"{count} {ending or 'without an ending'}" for ending, count in kinds[:_MAX_KINDS]]
    if more := sum(count for _, count in kinds[_MAX_KINDS:]):
        shown.append(f"{more} of other types")
    return f" Left out: {', '.join(shown)}." if shown else ""


def _print_line(out: Console, text: str) -> None:
    """Print a line without markup and controls: file names may hold brackets and escape sequences."""
    out.print(terminal.show_line(text), markup=False, soft_wrap=True)
