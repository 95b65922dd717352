"""The records of the embedded index on disk: one SQLite file in WAL mode."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gleaner_local.index._rows import Row
from gleaner_local.index.embedder import DIMENSIONS, Vectors
from gleaner_local.index.terms import Counts, Keys

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a key in memory means one record for ever
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    fields TEXT NOT NULL,
    terms BLOB NOT NULL,    -- uint32, little-endian
    counts BLOB NOT NULL,   -- uint16
    vectors BLOB NOT NULL,  -- float32, one row of 384 for each window; empty when not embedded
    UNIQUE (namespace, id)
);
"""
_LOCK_SECONDS = 2.0  # how long to wait for a process that is just ending
_PARAMETERS = 500  # of one statement; SQLite's own limit depends on how it was built


class StoredRecord(NamedTuple):
    """A record as it was written, with what the index derived from it."""

    id: str
    fields: dict[str, Any]
    keys: Keys
    counts: Counts
    vectors: Vectors


class RecordStore:
    """Every method is one transaction. Not thread-safe: the index holds a lock around it.

    Opening raises OSError when the file is damaged, may not be written, or is in use by another process.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._db = _opened(path)
        except sqlite3.DatabaseError as error:
            in_use = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            reason = "another process is using the index" if in_use else f"the index cannot be opened ({error})"
            raise OSError(errno.EBUSY if in_use else errno.EIO, reason, str(path)) from error

    def close(self) -> None:
        """Close the file; nothing is buffered outside it."""
        self._db.close()

    def put(self, namespace: str, records: Sequence[StoredRecord]) -> tuple[list[int], list[int]]:
        """Write records (of distinct ids); returns the keys of those replaced and the new keys, in order."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            replaced = self._delete(namespace, [record.id for record in records])
            added = [
                int(
                    self._db.execute(
                        "INSERT INTO records (namespace, id, fields, terms, counts, vectors)"
                        " VALUES (?, ?, ?, ?, ?, ?) RETURNING key",
                        (
                            namespace,
                            record.id,
                            json.dumps(record.fields, ensure_ascii=False),
                            record.keys.astype("<u4").tobytes(),
                            record.counts.astype("<u2").tobytes(),
                            record.vectors.astype("<f4").tobytes(),
                        ),
                    ).fetchone()[0]
                )
                for record in records
            ]
        return replaced, added

    def delete(self, namespace: str, ids: Sequence[str]) -> list[int]:
        """Delete records by id; returns the keys of those that were there."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            return self._delete(namespace, ids)

    def delete_all(self, namespace: str) -> None:
        """Delete every record of the namespace."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM records WHERE namespace = ?", (namespace,))

    def rows(self, namespace: str) -> list[Row]:
        """All rows of a namespace as the index holds them in memory, in no order."""
        found = self._db.execute("SELECT key, terms, counts, vectors FROM records WHERE namespace = ?", (namespace,))
        return [Row(key, *_decoded(terms, counts, vectors)) for key, terms, counts, vectors in found]

    def fields_of(self, keys: Sequence[int]) -> dict[int, tuple[str, dict[str, Any]]]:
        """Id and fields by key."""
        return {
            key: (record_id, json.loads(fields))
            for part in _parts(keys)
            for key, record_id, fields in self._db.execute(
                f"SELECT key, id, fields FROM records WHERE key IN ({_marks(part)})",  # noqa: S608 - marks only
                part,
            )
        }

    def get(self, namespace: str, ids: Sequence[str]) -> list[StoredRecord]:
        """The records with these ids, in no order."""
        return [
            StoredRecord(record_id, json.loads(fields), *_decoded(terms, counts, vectors))
            for part in _parts(ids)
            for record_id, fields, terms, counts, vectors in self._db.execute(
                "SELECT id, fields, terms, counts, vectors FROM records"  # noqa: S608 - marks only
                f" WHERE namespace = ? AND id IN ({_marks(part)})",
                (namespace, *part),
            )
        ]

    def not_embedded(self, namespace: str) -> list[StoredRecord]:
        """The records that have no vectors."""
        ids = self._db.execute(
            "SELECT id FROM records WHERE namespace = ? AND length(vectors) = 0", (namespace,)
        ).fetchall()
        return self.get(namespace, [record_id for (record_id,) in ids])

    def scan(self, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Id and fields of every record of a namespace."""
        found = self._db.execute("SELECT id, fields FROM records WHERE namespace = ?", (namespace,))
        return ((record_id, json.loads(fields)) for record_id, fields in found)

    def ids(self, namespace: str, *, prefix: str, after: str, limit: int) -> list[str]:
        """Up to `limit` ids that begin with `prefix` and come after `after`, in code point order."""
        return [
            record_id
            for (record_id,) in self._db.execute(
                "SELECT id FROM records WHERE namespace = ? AND id > ? AND id >= ?"
                " AND substr(id, 1, length(?)) = ? ORDER BY id LIMIT ?",
                (namespace, after, prefix, prefix, prefix, limit),
            )
        ]

    def counts(self) -> dict[str, int]:
        """How many records each namespace holds; one that holds none is not listed."""
        return dict(self._db.execute("SELECT namespace, count(*) FROM records GROUP BY namespace"))

    def _delete(self, namespace: str, ids: Sequence[str]) -> list[int]:
        return [
            int(key)
            for part in _parts(ids)
            for (key,) in self._db.execute(
                f"DELETE FROM records WHERE namespace = ? AND id IN ({_marks(part)}) RETURNING key",  # noqa: S608
                (namespace, *part),
            ).fetchall()
        ]


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_LOCK_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        # What one process wrote, another would not see in its memory: the file is for one at a time.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # what was answered for survives a loss of power too
        db.executescript(_SCHEMA)
        db.execute("BEGIN IMMEDIATE")  # takes the lock, which is then kept
        db.execute("COMMIT")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _decoded(terms: bytes, counts: bytes, vectors: bytes) -> tuple[Keys, Counts, Vectors]:
    return (
        np.frombuffer(terms, dtype="<u4"),
        np.frombuffer(counts, dtype="<u2"),
        np.frombuffer(vectors, dtype="<f4").reshape(-1, DIMENSIONS),
    )


def _parts(values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    return (tuple(values[start : start + _PARAMETERS]) for start in range(0, len(values), _PARAMETERS))


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))
