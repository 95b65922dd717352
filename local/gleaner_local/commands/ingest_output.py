"""Runs an ingestion for `gleaner ingest` and `gleaner serve --load`, and shows its progress and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import GleanerError, InvalidInput
from gleaner_documents.loading.waiting import Waiting
from gleaner_documents.loading.writing import IngestProgress
from gleaner_local.commands import terminal
from gleaner_local.ingestion.estimate import LoadEstimate
from gleaner_local.ingestion.run import IngestReport, ingest

_SECONDS_BETWEEN_LINES = 5.0
_MAX_KINDS = 20

# Is told what is to be loaded, and how to print a line; raises if it may not be loaded.
Confirm = Callable[[LoadEstimate, Callable[[str], None]], None]


def ingest_and_report(
    paths: Sequence[Path],
    *,
    kb_id: str,
    knowledge_base: KnowledgeBase,
    prune: bool,
    root: str | None = None,
    base_url: str | None = None,
    console: Console | None = None,
    confirm: Confirm | None = None,
    max_wait: float | None = None,
    max_wait_each: float | None = None,
    then: Callable[[IngestReport], None] | None = None,
) -> int:
    """Ingest `paths` with a progress bar on a terminal or plain lines elsewhere, and print what was done.

    While the index takes no more, this waits, for at most `max_wait` seconds in all and `max_wait_each` for a request.
    `confirm` is told what is to be loaded, before anything is written, and how to print a line. `then` is called with
    the report of a run that was not stopped.
    Returns the exit code: 0 if every given file was loaded or has nothing to read, else 1. Does not raise GleanerError.
    """
    out = console or Console(highlight=False)
    try:
        with show_progress(out, starts=confirm is None) as display:
            report = ingest(
                paths,
                kb_id=kb_id,
                knowledge_base=knowledge_base.patient(
                    Waiting(say=display.say_wait, max_seconds=max_wait, max_seconds_each=max_wait_each)
                ),
                prune=prune,
                progress=display.show,
                root=root,
                base_url=base_url,
                confirm=confirm and (lambda estimate: confirm(estimate, partial(print_line, out))),
            )
            if then is not None:
                then(report)
    except InvalidInput as error:  # running the same command again would not help
        print_line(out, f"Stopped: {error}")
        return 1
    except GleanerError as error:
        print_line(out, f"Stopped: {error}")
        print_line(out, "What was loaded until then stays. Run the same command again to continue.")
        return 1
    _print_summary(out, report, kb_id)
    return 1 if report.skipped else 0


class _Display(NamedTuple):
    """How a run shows where it is."""

    show: Callable[[IngestProgress], None]
    say_wait: Callable[[float], None]  # the seconds of a wait that begins


@contextmanager
def show_progress(out: Console, *, starts: bool) -> Iterator[_Display]:
    """Show a bar from now on if it `starts`, or else from the first chunk, so that a question has the terminal."""
    if not out.is_terminal:
        yield _Display(_print_lines(out), lambda seconds: print_line(out, _describe_wait(seconds)))
        return
    chunk_count = TextColumn("files, {task.fields[chunks]} chunks")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), chunk_count, TimeRemainingColumn())
    bar = Progress(*columns, console=out)
    task = bar.add_task("Loading", total=None, chunks=0)

    def show(at: IngestProgress) -> None:
        bar.start()
        bar.update(
            task,
            total=at.files_total,
            completed=round(at.files_done, 1),
            chunks=at.chunks_written,
            description="Loading",
        )

    def say_wait(seconds: float) -> None:
        bar.start()
        bar.update(task, description=_describe_wait(seconds), refresh=True)

    if starts:
        bar.start()
    try:
        yield _Display(show, say_wait)
    finally:
        bar.stop()


def _describe_wait(seconds: float) -> str:
    return f"Waiting {seconds:.0f} s: the index takes no more for now"


def _print_lines(out: Console) -> Callable[[IngestProgress], None]:
    last = time.monotonic()

    def show(at: IngestProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print_line(out, f"Loading: {int(at.files_done)} of {at.files_total} files, {at.chunks_written} chunks")

    return show


def _print_summary(out: Console, report: IngestReport, kb_id: str) -> None:
    for name in report.removed:
        print_line(out, f"Removed {name}")
    for problem in report.skipped:
        print_line(out, f"Skipped {problem}")
    for note in report.empty:
        print_line(out, f"Note: {note}; there is nothing to load")
    print_line(out, describe_report(report, kb_id))


def describe_report(report: IngestReport, kb_id: str, *, failed: Sequence[str] = ()) -> str:
    """What a run did, in one line; documents in `failed` may be loaded by the next one."""
    parts = [
        f"{len(names)} {verb}"
        for names, verb in (
            (report.loaded, "loaded"),
            (report.replaced, "replaced"),
            (report.unchanged, "unchanged"),
            (report.removed, "removed"),
            (report.empty, "with nothing to read"),
            (report.skipped, "skipped"),
            (failed, "failed"),
        )
        if names
    ]
    return (
        f"Knowledge base {kb_id}: {', '.join(parts) or 'no files found'}; "
        f"{report.chunks_written} chunks written.{_left_out(report)}"
    )


def _left_out(report: IngestReport) -> str:
    """The kinds of files that were left out, the most frequent ones first: " Left out: 3 .png, 2 .zip."."""
    kinds = sorted(report.left_out.items(), key=lambda kind: (-kind[1], not kind[0], kind[0]))
    shown = [f"{count} {ending or 'without an ending'}" for ending, count in kinds[:_MAX_KINDS]]
    if more := sum(count for _, count in kinds[_MAX_KINDS:]):
        shown.append(f"{more} of other types")
    return f" Left out: {', '.join(shown)}." if shown else ""


def print_line(out: Console, text: str) -> None:
    """Print a line without markup and controls: file names may hold brackets and escape sequences."""
    out.print(terminal.show_line(text), markup=False, soft_wrap=True)
