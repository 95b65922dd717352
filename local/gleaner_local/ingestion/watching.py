"""Watches directories in a thread, and says what became of each change."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gleaner.document_files import document_id
from gleaner.errors import ObjectStoreUnavailable
from gleaner.model import DocumentState
from gleaner.stores.document_items import DocumentEntry
from gleaner_local.ingestion.watched_directory import WatchedDirectory
from gleaner_local.service.documents import LocalDocuments

_PAUSE_SECONDS = 2.0
_SHARE = 10  # looking takes at most a tenth of the time, however many files there are
_SECONDS_BETWEEN_LINES = 5.0
_MAX_SINGLE_LINES = 20  # more changes at once are summed up

Say = Callable[[str], None]


@contextmanager
def watch_directories(
    paths: Sequence[Path], kb_id: str, documents: LocalDocuments, data_dir: Path, *, say: Say
) -> Iterator[None]:
    """Keep the bucket of a running service as the directories are, whose paths are absolute, until the context ends."""
    objects = documents.connect()
    memories = data_dir / "watched"
    memories.mkdir(exist_ok=True)
    directories = [
        WatchedDirectory(
            path, kb_id=kb_id, objects=objects, memory=memories / f"{document_id(f'{kb_id}/{path}')}.json", say=say
        )
        for path in paths
    ]
    watch = Watch(directories, say)
    documents.listen(watch.tell)
    watch.expect(documents.waiting())  # what an earlier run left
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class Watch:
    """Compares directories with their objects every few seconds, and says how the changes end."""

    def __init__(self, directories: Sequence[WatchedDirectory], say: Say) -> None:
        self._directories = directories
        self._say = say
        self._stop_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._lock = threading.Lock()
        self._awaited: set[tuple[str, str]] = set()  # knowledge bases and names
        self._summed: Counter[str] = Counter()
        self._said_at = 0.0

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching. What changes from now on is found at the next start."""
        self._stop_requested.set()
        if self._thread.is_alive():
            self._thread.join()

    def expect(self, waiting: Iterable[tuple[str, str]]) -> None:
        """Await those documents that belong to the directories."""
        for kb_id, name in waiting:
            if self._has(kb_id, name):
                self._await(kb_id, name)

    def tell(self, kb_id: str, name: str, entry: DocumentEntry | None) -> None:
        """Say what became of a document; None: it was removed."""
        if not self._has(kb_id, name):
            return
        with self._lock:
            self._awaited.discard((kb_id, name))
            state = entry.state.value if entry else "removed"
            if len(self._awaited) < _MAX_SINGLE_LINES and not self._summed:
                self._say(f"{name}: {_describe(entry)}")
                return
            if entry is not None and entry.state is not DocumentState.LOADED:
                self._say(f"{name}: {_describe(entry)}")
            self._sum_up(state)

    def _has(self, kb_id: str, name: str) -> bool:
        return any(directory.has(kb_id, name) for directory in self._directories)

    def _sum_up(self, state: str) -> None:
        self._summed[state] += 1
        if self._awaited and time.monotonic() - self._said_at < _SECONDS_BETWEEN_LINES:
            return
        parts = ", ".join(f"{count} {state}" for state, count in self._summed.items())
        self._say(f"Watching: {parts}" + (f", {len(self._awaited)} to go" if self._awaited else "."))
        self._said_at = time.monotonic()
        if not self._awaited:
            self._summed.clear()

    def _run(self) -> None:
        pause = 0.0
        failing: set[WatchedDirectory] = set()  # each says so once
        while not self._stop_requested.wait(pause):
            started = time.monotonic()
            for directory in self._directories:
                try:
                    directory.update(self._await)
                    failing.discard(directory)
                except (ObjectStoreUnavailable, OSError) as error:
                    if directory not in failing:
                        self._say(f"Changes in {directory.name} cannot be kept now: {error} They are tried again.")
                    failing.add(directory)
            pause = max(_PAUSE_SECONDS, _SHARE * (time.monotonic() - started))

    def _await(self, kb_id: str, name: str) -> None:
        """Await what becomes of a document, once however often it changes until then."""
        with self._lock:
            self._awaited.add((kb_id, name))


def _describe(entry: DocumentEntry | None) -> str:
    if entry is None:
        return "removed"
    if entry.state is DocumentState.LOADED:
        passages = "passage" if entry.chunk_count == 1 else "passages"
        return f"loaded, {entry.chunk_count} {passages}"
    return f"{entry.state.value}: {entry.reason}" if entry.reason else entry.state.value
