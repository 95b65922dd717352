"""Keeps the objects of a bucket as the files of a directory are: puts what changed, deletes what is gone."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import compose_name
from gleaner.groups import write_header
from gleaner_documents.loading.object_names import make_key
from gleaner_documents.model import FileNotReadable, UnclearRights, UnreadableDocument
from gleaner_documents.plan import is_suspicious
from gleaner_documents.source_files import Root, ScanResult, SourceFile, find_source_files
from gleaner_local.ingestion._known_files import Fingerprint, KnownFiles, take_fingerprint

_QUIET_SECONDS = 2.0  # a file that was written less long ago may be half written

Say = Callable[[str], None]
Expect = Callable[[str, str], None]  # a knowledge base and the name of a document in it


class WatchedDirectory:
    """A directory and the objects of its files: `KB_ID/<name>`, named as `gleaner ingest DIRECTORY` names them."""

    def __init__(self, path: Path, *, kb_id: str, objects: ObjectStore, memory: Path, say: Say) -> None:
        """`path` is absolute; `memory` is the file that outlasts a restart; `say` prints a line."""
        self._root = Root(path=path, name=compose_name(path.name))
        self._kb_id = kb_id
        self._objects = objects
        self._say = say
        self._known = KnownFiles(memory)
        self._stored: set[str] | None = None  # the names in the bucket
        self._last: dict[str, Fingerprint] = {}  # at the last scan
        self._missing: set[str] = set()  # at the last scan
        self._refused: dict[str, Fingerprint] = {}  # versions that are as bad at the next look
        self._said: dict[str, str] = {}  # what is wrong, by file or topic
        self._left_out: Counter[str] | None = None

    @property
    def name(self) -> str:
        """The name that the names of its files begin with."""
        return self._root.name

    def has(self, kb_id: str, name: str) -> bool:
        """Whether a document belongs to the directory."""
        return kb_id == self._kb_id and name.startswith(self._root.prefix)

    def update(self, expect: Expect) -> None:
        """Compare the directory with the bucket, and call `expect` before each object that is put or deleted.

        What changed since the last call waits for the next one. Raises ObjectStoreUnavailable, and OSError if the
        memory cannot be written.
        """
        if self._stored is None:
            self._stored = self._list_stored()
        if not self._is_there():
            return
        scan = find_source_files([self._root.path])
        self._tell_about(scan)
        unclear = {problem.source_file_path for problem in scan.unreadable if isinstance(problem, UnclearRights)}
        marks, is_first = self._take_marks(scan.files), not self._last
        due = [file for file in scan.files if self._is_due(file.source_file_path, marks, is_first=is_first)]
        self._last = marks
        earlier, unreadable = set(self._stored), {problem.source_file_path for problem in scan.unreadable}
        try:
            for file in due:
                self._put(file, marks[file.source_file_path], self._stored, expect)
            for name in sorted(unclear & self._stored):  # the version there may be for too many
                self._delete(name, self._stored, expect)
            self._delete_missing(earlier, self._stored, unreadable, expect)
        finally:
            self._known.save()

    def _list_stored(self) -> set[str]:
        start = len(self._kb_id) + 1
        etags = {facts.key[start:]: facts.version for facts in self._objects.list(f"{self._kb_id}/{self._root.prefix}")}
        self._known.load(etags)
        return set(etags)

    def _is_there(self) -> bool:
        """Whether the directory can be read; a network drive that is gone must not empty the knowledge base."""
        try:
            next(self._root.path.iterdir(), None)
        except OSError as error:
            self._say_once(
                "", f"{self._root.path} cannot be read ({error.strerror}). Its documents stay; waiting for it."
            )
            return False
        if self._said.pop("", None):
            self._say(f"{self._root.path} is there again.")
        return True

    def _take_marks(self, files: Iterable[SourceFile]) -> dict[str, Fingerprint]:
        marks = {}
        for file in files:
            try:
                marks[file.source_file_path] = take_fingerprint(file.path)
            except FileNotFoundError:
                continue  # deleted since it was listed
            except OSError as error:
                self._complain(FileNotReadable(file.source_file_path, f"cannot be read: {error.strerror}"))
        return marks

    def _is_due(self, name: str, marks: dict[str, Fingerprint], *, is_first: bool) -> bool:
        """Whether a version is to be put: one that is not in the bucket and has stopped changing."""
        mark = marks.get(name)
        if mark is None or mark in (self._known.get(name), self._refused.get(name)):
            return False
        if is_first:
            return time.time() - mark.modified_ns / 1e9 > _QUIET_SECONDS
        return mark == self._last.get(name)

    def _put(self, file: SourceFile, mark: Fingerprint, stored: set[str], expect: Expect) -> None:
        name = file.source_file_path
        try:
            key = make_key(self._kb_id, name)
            data, groups = file.read(), file.read_groups()
            if take_fingerprint(file.path) != mark:  # it is being written: the next scan looks again
                return
        except FileNotFoundError:
            return
        except UnreadableDocument as problem:
            self._complain(problem)
            if not isinstance(problem, FileNotReadable):  # its permissions may change, which nothing else shows
                self._refused[name] = mark
            if isinstance(problem, UnclearRights) and name in stored:  # the version there may be for too many
                self._delete(name, stored, expect)
            return
        self._said.pop(name, None)
        expect(self._kb_id, name)
        self._objects.put(key, data, metadata={"groups": write_header(groups)} if groups else None)
        self._known.put(name, mark, hashlib.md5(data, usedforsecurity=False).hexdigest())
        stored.add(name)

    def _delete_missing(self, earlier: set[str], stored: set[str], unreadable: set[str], expect: Expect) -> None:
        """Delete the objects whose files were missing twice: some editors delete a file and write it again."""
        missing = set(self._root.find_missing(earlier - self._last.keys() - unreadable))
        gone, self._missing = (missing & self._missing) - self._hold(missing, earlier), missing
        for name in sorted(gone):
            self._delete(name, stored, expect)

    def _delete(self, name: str, stored: set[str], expect: Expect) -> None:
        key = f"{self._kb_id}/{name}"
        if self._objects.head(key) is not None:  # somebody else may have removed it: then nothing comes of it
            expect(self._kb_id, name)
            self._objects.delete(key)
        self._known.drop(name)
        stored.discard(name)

    def _hold(self, missing: set[str], earlier: set[str]) -> set[str]:
        """The missing files whose documents stay: all of them were there, and now none is.

        It is more likely that another directory took the place of this one, such as that of an unmounted drive. They
        are let go when one of them comes back.
        """
        if self._known.held - missing:
            self._known.held = set()
            self._said.pop("all", None)
        if missing == earlier and is_suspicious(self._root, missing):
            self._known.held = set(missing)
        if self._known.held:
            self._say_once(
                "all",
                f"None of {len(self._known.held)} documents is in {self._root.path} any more, so they stay until one "
                "of them is back. If they are to go, remove them on the page or by DELETE /api/documents/ID.",
            )
        return self._known.held

    def _tell_about(self, scan: ScanResult) -> None:
        for problem in scan.unreadable:
            self._complain(problem)
        if self._left_out is None and scan.left_out:
            kinds = (f"{count} {ending or 'without an ending'}" for ending, count in scan.left_out.most_common(20))
            self._say(f"Left out in {self._root.path}: {', '.join(kinds)}.")
        self._left_out = scan.left_out

    def _complain(self, problem: UnreadableDocument) -> None:
        self._say_once(problem.source_file_path, f"{problem.source_file_path}: skipped: {problem.reason}")

    def _say_once(self, topic: str, text: str) -> None:
        if self._said.get(topic) != text:
            self._said[topic] = text
            self._say(text)
