"""`gleaner ingest --env`: uploads documents to a deployed environment and tells what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from gleaner.errors import GleanerError, InvalidInput
from gleaner_documents.source_files import find_source_files
from gleaner_local.commands.deployed_documents import explain, explain_aws_errors, find_documents
from gleaner_local.commands.ingest_output import describe_report, print_line, show_progress
from gleaner_local.commands.main import INTERRUPTED
from gleaner_local.ingestion.bucket_run import BucketReport, BucketRun, Watcher
from gleaner_local.ingestion.known_roots import KnownRoots
from gleaner_local.ingestion.resync import MAX_KEYS, resync

PAUSE_SECONDS = 2.0  # between two looks at the states


class Target(NamedTuple):
    """An environment and a knowledge base."""

    env: str
    kb_id: str


def upload_and_report(
    paths: Sequence[Path],
    target: Target,
    *,
    data_dir: Path,
    prune: bool,
    root: str | None = None,
    base_url: str | None = None,
    max_wait: float | None = None,
) -> int:
    """Upload what changed, print a line for each document once it has ended, and return the exit code.

    The code is that of a local run: 0 if every given file was loaded or has nothing to read, else 1; INTERRUPTED for
    Ctrl-C, after which loading goes on. `max_wait` is how long to wait in seconds while no document ends. What is wrong
    with the files is told before AWS is asked for anything. Raises CallFailed if the environment cannot be found, and
    InvalidInput for ambiguous names.
    """
    out = Console(highlight=False)
    scan = find_source_files(paths, root=root, base_url=base_url)
    for problem in scan.unreadable:
        print_line(out, f"Skipped {problem}")
    if not (scan.files or scan.roots):
        print_line(out, describe_report(BucketReport(skipped=scan.unreadable), target.kb_id))
        return 1
    with explain_aws_errors():
        place = find_documents(target.env, target.kb_id).place
    known_roots = KnownRoots(data_dir, index=f"s3://{place.objects.bucket}")
    known_roots.claim(scan.roots, target.kb_id, confirmed=root is not None)
    with show_progress(out, starts=True) as display:
        watcher = Watcher(show=display.show, say=partial(print_line, out))
        run = BucketRun(place, watcher, max_quiet_seconds=max_wait, pause_seconds=PAUSE_SECONDS)
        try:
            run.load(scan, prune=prune)
        except InvalidInput as error:  # running the same command again would not help
            stopped, code = [f"Stopped: {error}"], 1
        except (GleanerError, BotoCoreError, ClientError) as error:
            stopped, code = [f"Stopped: {explain(error)}", *_describe_rest(run, target)], 1
        except KeyboardInterrupt:
            stopped, code = ["Interrupted.", *_describe_rest(run, target)], INTERRUPTED
        else:
            stopped, code = [], 1 if run.report.skipped or run.report.failed else 0
    for line in (*stopped, describe_report(run.report, target.kb_id, failed=run.report.failed)):
        print_line(out, line)
    return code


def resync_and_report(target: Target) -> None:
    """Have the environment look at all documents of the knowledge base again, and say how.

    Raises CallFailed.
    """
    with explain_aws_errors():
        found = find_documents(target.env, target.kb_id)
        done = resync(found.place, found.backfill)
    out = Console(highlight=False)
    if done.documents is None:
        print_line(
            out,
            f"The knowledge base {target.kb_id} has more than {MAX_KEYS:,} objects. A state machine puts them into the "
            f"queue of {target.env}: {done.execution}",
        )
    else:
        print_line(out, f"Put {done.documents:,} documents of {target.kb_id} into the queue of {target.env}.")
    print_line(
        out, "Unchanged ones stay as they are. GET /api/documents?state=failed lists those that could not be loaded."
    )


def _describe_rest(run: BucketRun, target: Target) -> list[str]:
    """What happens to the files of a run that did not come to its end."""
    lines = []
    if run.awaited:
        lines.append(f"Loading goes on in {target.env}: {len(run.awaited)} documents have not ended yet.")
    if run.unsent:
        lines.append(f"Up to {run.unsent} files were not uploaded.")
    return [*lines, "Run the same command again to see what became of them, and to continue."]
