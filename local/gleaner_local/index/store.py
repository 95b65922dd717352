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
from gleaner_local.index.terms import Terms

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: a key in memory always means the same record
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    fields TEXT NOT NULL,
    terms BLOB NOT NULL,    -- uint32, little-endian
    counts BLOB NOT NULL,   -- uint16
    vectors BLOB NOT NULL,  -- float32, one row of 384 for each window; empty when not embedded
    parts BLOB NOT NULL DEFAULT x'',
    part_counts BLOB NOT NULL DEFAULT x'',
    familiarity REAL NOT NULL DEFAULT 1,
    version INTEGER NOT NULL DEFAULT 0,  -- of the analysis that terms, parts and familiarity are from
    UNIQUE (namespace, id)
);
"""
# Columns that files of earlier versions lack: their records are analysed again when their namespace is loaded.
_ADDED_COLUMNS = (
    "parts BLOB NOT NULL DEFAULT x''",
    "part_counts BLOB NOT NULL DEFAULT x''",
    "familiarity REAL NOT NULL DEFAULT 1",
    "version INTEGER NOT NULL DEFAULT 0",
)
_DERIVED = "terms, counts, parts, part_counts, familiarity, vectors"
_LOCK_SECONDS = 2.0  # allows for a process that is about to exit
_MAX_PARAMETERS = 500  # per statement; SQLite's own limit depends on its build


class StoredRecord(NamedTuple):
    """A stored record, with the terms and vectors that the index derived from it."""

    id: str
    fields: dict[str, Any]
    terms: Terms
    parts: Terms
    familiarity: float
    vectors: Vectors


class RecordStore:
    """Every method is one transaction. Not thread-safe: the index guards it with a lock.

    Opening raises OSError when the file is damaged, read-only, or in use by another process.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError as error:
            in_use = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            reason = "another process is using the index" if in_use else f"the index cannot be opened ({error})"
            raise OSError(errno.EBUSY if in_use else errno.EIO, reason, str(path)) from error

    def close(self) -> None:
        """Close the file; nothing is buffered outside it."""
        self._db.close()

    def put(self, namespace: str, records: Sequence[StoredRecord], version: int) -> tuple[list[int], list[int]]:
        """Write records (of distinct ids) as the analysis of this version describes them.

        Returns the keys of replaced records, and the new keys in order.
        """
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            old_keys = self._delete(namespace, [record.id for record in records])
            new_keys = [
                int(
                    self._db.execute(
                        f"INSERT INTO records (namespace, id, fields, version, {_DERIVED})"  # noqa: S608 - constant
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key",
                        (
                            namespace,
                            record.id,
                            json.dumps(record.fields, ensure_ascii=False),
                            version,
                            *_encode(record.terms),
                            *_encode(record.parts),
                            record.familiarity,
                            record.vectors.astype("<f4").tobytes(),
                        ),
                    ).fetchone()[0]
                )
                for record in records
            ]
        return old_keys, new_keys

    def delete(self, namespace: str, ids: Sequence[str]) -> list[int]:
        """Delete records by id; returns the keys of the deleted records."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            return self._delete(namespace, ids)

    def delete_all(self, namespace: str) -> None:
        """Delete every record of the namespace."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM records WHERE namespace = ?", (namespace,))

    def rows(self, namespace: str) -> list[Row]:
        """All rows of a namespace for the index in memory, in no particular order."""
        cursor = self._db.execute(
            f"SELECT key, {_DERIVED} FROM records WHERE namespace = ?",  # noqa: S608 - constant
            (namespace,),
        )
        return [Row(key, *_decode(*derived)) for key, *derived in cursor]

    def fields_of(self, keys: Sequence[int]) -> dict[int, tuple[str, dict[str, Any]]]:
        """Id and fields by key."""
        return {
            key: (record_id, json.loads(fields))
            for batch in _batches(keys)
            for key, record_id, fields in self._db.execute(
                f"SELECT key, id, fields FROM records WHERE key IN ({_placeholders(batch)})",  # noqa: S608 - placeholders
                batch,
            )
        }

    def get(self, namespace: str, ids: Sequence[str]) -> list[StoredRecord]:
        """The records with these ids, in no particular order."""
        return [
            StoredRecord(record_id, json.loads(fields), *_decode(*derived))
            for batch in _batches(ids)
            for record_id, fields, *derived in self._db.execute(
                f"SELECT id, fields, {_DERIVED} FROM records"  # noqa: S608 - placeholders
                f" WHERE namespace = ? AND id IN ({_placeholders(batch)})",
                (namespace, *batch),
            )
        ]

    def not_embedded(self, namespace: str) -> list[str]:
        """The ids of the records without vectors."""
        return self._ids_where(namespace, "length(vectors) = 0")

    def analysed_before(self, namespace: str, version: int) -> list[str]:
        """The ids of the records that an analysis before this version describes."""
        return self._ids_where(namespace, "version < ?", version)

    def scan(self, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Id and fields of every record of a namespace."""
        cursor = self._db.execute("SELECT id, fields FROM records WHERE namespace = ?", (namespace,))
        return ((record_id, json.loads(fields)) for record_id, fields in cursor)

    def ids(self, namespace: str, *, prefix: str, after: str, limit: int) -> list[str]:
        """Up to `limit` ids with `prefix` that follow `after`, in code point order."""
        return [
            record_id
            for (record_id,) in self._db.execute(
                "SELECT id FROM records WHERE namespace = ? AND id > ? AND id >= ?"
                " AND substr(id, 1, length(?)) = ? ORDER BY id LIMIT ?",
                (namespace, after, prefix, prefix, prefix, limit),
            )
        ]

    def counts(self) -> dict[str, int]:
        """The number of records by namespace; empty namespaces are not listed."""
        return dict(self._db.execute("SELECT namespace, count(*) FROM records GROUP BY namespace"))

    def _ids_where(self, namespace: str, condition: str, *values: int) -> list[str]:
        rows = self._db.execute(
            f"SELECT id FROM records WHERE namespace = ? AND {condition}",  # noqa: S608 - constants
            (namespace, *values),
        )
        return [record_id for (record_id,) in rows]

    def _delete(self, namespace: str, ids: Sequence[str]) -> list[int]:
        return [
            int(key)
            for batch in _batches(ids)
            for (key,) in self._db.execute(
                f"DELETE FROM records WHERE namespace = ? AND id IN ({_placeholders(batch)}) RETURNING key",  # noqa: S608
                (namespace, *batch),
            ).fetchall()
        ]


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_LOCK_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        # Another process would not see new records in its memory, so only one at a time may use the file.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # acknowledged writes survive a power loss
        db.executescript(_SCHEMA)
        _add_columns(db)
        db.execute("BEGIN IMMEDIATE")  # takes the lock and keeps it
        db.execute("COMMIT")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _add_columns(db: sqlite3.Connection) -> None:
    names = {row[1] for row in db.execute("PRAGMA table_info(records)")}
    for column in _ADDED_COLUMNS:
        if column.split()[0] not in names:
            db.execute(f"ALTER TABLE records ADD COLUMN {column}")


def _encode(terms: Terms) -> tuple[bytes, bytes]:
    return terms.keys.astype("<u4").tobytes(), terms.counts.astype("<u2").tobytes()


def _decode(
    terms: bytes, counts: bytes, parts: bytes, part_counts: bytes, familiarity: float, vectors: bytes
) -> tuple[Terms, Terms, float, Vectors]:
    return (
        Terms(np.frombuffer(terms, dtype="<u4"), np.frombuffer(counts, dtype="<u2")),
        Terms(np.frombuffer(parts, dtype="<u4"), np.frombuffer(part_counts, dtype="<u2")),
        familiarity,
        np.frombuffer(vectors, dtype="<f4").reshape(-1, DIMENSIONS),
    )


def _batches(values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    return (tuple(values[start : start + _MAX_PARAMETERS]) for start in range(0, len(values), _MAX_PARAMETERS))


def _placeholders(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))
