"""Keeps the objects of a bucket on disk: their contents as files, and what is known about them in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    key TEXT PRIMARY KEY, etag TEXT, size INTEGER, modified REAL, content_type TEXT, metadata TEXT, file TEXT
);
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, reason TEXT, etag TEXT, size INTEGER
);
"""
_COLUMNS = "key, etag, size, modified, content_type, metadata, file"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """What is known about an object; `file` holds its content and is never changed, only deleted.

    `etag` is the MD5 of the content without quotes, `modified` is in seconds since the epoch, and `metadata` has the
    names without `x-amz-meta-`.
    """

    key: str
    etag: str
    size: int
    modified: float
    content_type: str
    file: Path
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """The last change of an object: created, with its ETag and size, or deleted, without; `reason` is the operation.

    Changes are numbered upwards.
    """

    number: int
    key: str
    reason: str
    etag: str | None
    size: int | None


class ObjectFiles:
    """The objects below one directory. A content file belongs to one version of an object and is replaced by another.

    An object exists once its row is committed, so a process that ends at any moment leaves the old version or the
    new one; what neither needs is deleted at the next start. The same commit notes the change, which stays until
    somebody has settled it. Safe for threads. Raises sqlite3.Error and OSError.
    """

    def __init__(self, directory: Path) -> None:
        """Open the objects in `directory`, or begin with none."""
        self._contents = directory / "contents"
        self._contents.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(directory / "objects.sqlite", isolation_level=None, check_same_thread=False)
        # As the tables: safe from the end of every process at once, from a power cut after the next checkpoint.
        self._connection.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; {_SCHEMA}")
        self._delete_leftovers()

    def new_file(self) -> Path:
        """A path for the content of an object that arrives."""
        return self._contents / uuid.uuid4().hex

    def put(self, new: StoredObject, *, reason: str) -> None:
        """Store an object, in the place of the one with its key; `reason` is the operation."""
        values = (
            new.key,
            new.etag,
            new.size,
            new.modified,
            new.content_type,
            json.dumps(dict(new.metadata)),
            new.file.name,
        )
        with self._lock:
            old = self._find(new.key)
            with self._transaction():
                self._connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)", values)
                self._note_change(new.key, reason, new.etag, new.size)
        if old is not None:
            old.file.unlink(missing_ok=True)

    def find(self, key: str) -> StoredObject | None:
        """The object with this key."""
        with self._lock:
            return self._find(key)

    def delete(self, key: str, *, reason: str) -> bool:
        """Delete the object with this key; returns whether there was one."""
        with self._lock:
            if (old := self._find(key)) is None:
                return False
            with self._transaction():
                self._connection.execute("DELETE FROM objects WHERE key = ?", (key,))
                self._note_change(key, reason, None, None)
        old.file.unlink(missing_ok=True)
        return True

    def changes(self, *, after: int) -> list[ObjectChange]:
        """The changes with higher numbers than `after` that nobody has settled, in their order."""
        query = "SELECT number, key, reason, etag, size FROM changes WHERE number > ? ORDER BY number"
        with self._lock:
            return [ObjectChange(*row) for row in self._connection.execute(query, (after,))]

    def settle(self, key: str, *, number: int) -> bool:
        """Forget the change of an object, unless a later one than `number` came; returns whether there was one."""
        with self._lock:
            done = self._connection.execute("DELETE FROM changes WHERE key = ? AND number <= ?", (key, number))
            return done.rowcount > 0

    def list(self, prefix: str, *, start: str, limit: int) -> list[StoredObject]:
        """At most `limit` objects whose keys begin with `prefix`, from `start` on, in the byte order of UTF-8."""
        query = f"SELECT {_COLUMNS} FROM objects WHERE key >= ? ORDER BY key LIMIT ?"  # noqa: S608 - constants
        with self._lock:
            rows = self._connection.execute(query, (max(prefix, start, key=str.encode), limit)).fetchall()
        return [stored for stored in map(self._to_object, rows) if stored.key.startswith(prefix)]

    def close(self) -> None:
        """Close the file; everything is on disk."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _note_change(self, key: str, reason: str, etag: str | None, size: int | None) -> None:
        insert = "INSERT OR REPLACE INTO changes (key, reason, etag, size) VALUES (?, ?, ?, ?)"
        self._connection.execute(insert, (key, reason, etag, size))

    def _find(self, key: str) -> StoredObject | None:
        query = f"SELECT {_COLUMNS} FROM objects WHERE key = ?"  # noqa: S608 - constants
        row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else self._to_object(row)

    def _to_object(self, row: tuple[str, str, int, float, str, str, str]) -> StoredObject:
        key, etag, size, modified, content_type, metadata, file = row
        return StoredObject(
            key=key,
            etag=etag,
            size=size,
            modified=modified,
            content_type=content_type,
            metadata=json.loads(metadata),
            file=self._contents / file,
        )

    def _delete_leftovers(self) -> None:
        used = {name for (name,) in self._connection.execute("SELECT file FROM objects")}
        for name in _file_names(self._contents):
            if name not in used:
                (self._contents / name).unlink(missing_ok=True)


def _file_names(directory: Path) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry.name
