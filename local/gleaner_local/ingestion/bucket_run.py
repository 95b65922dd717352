"""Loads files into a deployed environment: uploads what changed, and follows the states until all have ended."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field

from gleaner.errors import GleanerError
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner_documents.loading.writing import IngestProgress
from gleaner_documents.model import FRONT_MATTER_ALONE, PAGES_ALONE, NothingToRead, UnreadableDocument
from gleaner_documents.source_files import ScanResult
from gleaner_local.ingestion.bucket_files import (
    STORE_SECONDS,
    Awaited,
    Place,
    Sent,
    delete_objects,
    find_gone_objects,
    send_file,
)
from gleaner_local.ingestion.run import IngestReport

_UPLOADS = 8  # at once, of files that are in memory
_MAX_LOOKS = 300  # states that are read at once: the function ends a few documents a second
QUIET_SECONDS = 60.0  # without any document that ended, until the user is told


class NoProgress(GleanerError):
    """No document ended for as long as the user wanted to wait."""


@dataclass(slots=True, kw_only=True)
class BucketReport(IngestReport):
    """What a run did. Documents in `failed` may be loaded by the next run; each has the reason."""

    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """What is told while a run goes on: progress, a line for each document, and that nothing has ended for a time."""

    show: Callable[[IngestProgress], None]
    say: Callable[[str], None]


class BucketRun:
    """One run. What it has done when an error or Ctrl-C ends it is in `report`, and what is open in `awaited`."""

    def __init__(
        self,
        place: Place,
        watcher: Watcher,
        *,
        max_quiet_seconds: float | None = None,
        pause_seconds: float,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        """`max_quiet_seconds` is how long to wait while no document ends; `pause_seconds` is between two looks.

        After `quiet_seconds` in which none ended the watcher is told.
        """
        self._quiet = quiet_seconds
        self.report = BucketReport()
        self.awaited: deque[Awaited] = deque()
        self.unsent = 0
        self._place = place
        self._watcher = watcher
        self._max_quiet = math.inf if max_quiet_seconds is None else max_quiet_seconds
        self._pause = pause_seconds
        self._ended = 0
        self._total = 0
        self._last_end = self._last_word = self._last_look = 0.0  # on the clock of time.monotonic
        self._seen: Counter[str] = Counter()

    def load(self, scan: ScanResult, *, prune: bool) -> BucketReport:
        """Load the files that were found, named as locally; with `prune`, delete objects whose files are gone.

        Documents are removed last, as locally. The watcher is not told what the scan found to be unreadable. Raises
        InvalidInput, NoProgress, ObjectStoreUnavailable, StoreUnavailable, QueueUnavailable, BotoCoreError and
        ClientError.
        """
        self.report.left_out = scan.left_out
        self.report.skipped.extend(scan.unreadable)
        self._total = self.unsent = len(scan.files)
        self._last_end = self._last_word = time.monotonic()
        new: set[str] = set()
        with _pool() as pool:
            self.follow({pool.submit(send_file, self._place, file) for file in scan.files}, new)
        if prune:
            removed = delete_objects(self._place, find_gone_objects(self._place, scan.roots, new=new))
            self._total += len(removed)
            self.awaited.extend(removed)
            self.follow()
        return self.report

    def follow(self, uploads: set[Future[Sent]] | None = None, new: set[str] | None = None) -> None:
        """Take the ends of uploads, note which are `new`, and look at states until nothing is open."""
        uploads, new = uploads or set(), set() if new is None else new
        while uploads or self.awaited:
            done, _ = wait(uploads, timeout=self._pause, return_when=FIRST_COMPLETED)
            for upload in done:
                uploads.remove(upload)
                self.unsent -= 1
                try:
                    self._take(upload.result(), new)
                except UnreadableDocument as problem:
                    self._skip(problem)
                    self._end()
            if not uploads:
                time.sleep(self._pause)
            if time.monotonic() - self._last_look >= self._pause:
                self._look()
                self._last_look = time.monotonic()
            self._mind_the_time()

    def _take(self, sent: Sent, new: set[str]) -> None:
        if sent.awaited.is_new:
            new.add(sent.awaited.source_file_path)
        if sent.settled is None:
            self.awaited.append(sent.awaited)
        elif sent.settled.state is DocumentState.LOADED:
            self.report.unchanged.append(sent.awaited.source_file_path)
            self._end(f"Unchanged {sent.awaited.source_file_path}")
        else:
            self._note(sent.awaited, sent.settled)

    def _look(self) -> None:
        """Read the states of the documents that were not looked at for longest."""
        looked = [self.awaited.popleft() for _ in range(min(_MAX_LOOKS, len(self.awaited)))]
        self.awaited.extend(looked)  # none is lost if the table gives no answer
        ids = [one.document_id for one in looked]
        entries = self._place.states.find_many(self._place.kb_id, ids, deadline=Deadline.after(STORE_SECONDS))
        settled = set()
        for one in looked:
            entry = entries.get(one.document_id)
            may_be_replaced = one.is_overtaken(entry) or (entry is None and self._is_quiet())
            if one.is_settled(entry) or (may_be_replaced and self._is_replaced(one)):
                settled.add(one.document_id)
                self._note(one, entry)
        self._seen = Counter(
            _describe_state(entries.get(one.document_id)) for one in looked if one.document_id not in settled
        )
        self.awaited = deque(one for one in self.awaited if one.document_id not in settled)

    def _is_quiet(self) -> bool:
        """Whether it is time to look at objects, too: somebody may have deleted one before it was ever loaded."""
        return time.monotonic() - self._last_word > self._quiet

    def _is_replaced(self, one: Awaited) -> bool:
        """Whether somebody else has changed the object since, so that this version is not loaded any more."""
        facts = self._place.objects.head(self._place.key_of(one.source_file_path))
        return (facts.version if facts else None) != one.version

    def _note(self, one: Awaited, entry: DocumentEntry | None) -> None:
        name, report = one.source_file_path, self.report
        if entry is None:
            report.removed.append(name)
            self._end(f"Removed {name}")
        elif entry.state is DocumentState.LOADED:
            (report.loaded if one.is_new else report.replaced).append(name)
            report.chunks_written += entry.chunk_count
            self._end(f"{'Loaded' if one.is_new else 'Replaced'} {name}: {entry.chunk_count} chunks")
        elif entry.state is DocumentState.FAILED:
            report.failed.append(name)
            self._end(f"Failed {name}: {entry.reason}")
        elif entry.reason in (FRONT_MATTER_ALONE, PAGES_ALONE):
            report.empty.append(NothingToRead(name, entry.reason))
            self._end(f"Note: {report.empty[-1]}; there is nothing to load")
        else:
            self._skip(UnreadableDocument(name, entry.reason or "was skipped"))
            self._end()

    def _skip(self, problem: UnreadableDocument) -> None:
        self.report.skipped.append(problem)
        self._watcher.say(f"Skipped {problem}")

    def _end(self, line: str = "") -> None:
        """One document has ended."""
        self._ended += 1
        self._last_end = self._last_word = time.monotonic()
        if line:
            self._watcher.say(line)
        progress = IngestProgress(
            files_done=self._ended, files_total=self._total, chunks_written=self.report.chunks_written
        )
        self._watcher.show(progress)

    def _mind_the_time(self) -> None:
        """Say that nothing has ended for some time, or give up. Raises NoProgress."""
        now = time.monotonic()
        if now - self._last_end > self._max_quiet:
            raise NoProgress(f"No document has ended for {self._max_quiet:.0f} s ({self._describe_open()}).")
        if self._is_quiet():
            self._last_word = now
            quiet = now - self._last_end
            self._watcher.say(f"No document has ended for {quiet:.0f} s: {self._describe_open()}.")

    def _describe_open(self) -> str:
        kinds = [f"{count} {kind}" for kind, count in self._seen.most_common()]
        return ", ".join(kinds) or f"{self.unsent} not uploaded yet"


def _describe_state(entry: DocumentEntry | None) -> str:
    if entry is None:
        return "not taken from the queue yet"
    return f"{entry.state.value} ({entry.reason})" if entry.reason else entry.state.value


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for uploads. What has not begun when an error or Ctrl-C ends the run is left out."""
    pool = ThreadPoolExecutor(_UPLOADS)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
