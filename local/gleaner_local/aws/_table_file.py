"""A SQLite file that holds the tables of the local DynamoDB."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_VERSION = 1
_SCHEMA = """
CREATE TABLE tables (arn TEXT PRIMARY KEY, account TEXT, region TEXT, name TEXT, definition TEXT);
CREATE TABLE items (arn TEXT, partition_key TEXT, sort_key TEXT, item TEXT, PRIMARY KEY (arn, partition_key, sort_key));
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
"""
_SETTINGS = "settings"
# A commit is safe from the end of every process at once, and from a power cut once it has been flushed.
_SECONDS_BETWEEN_FLUSHES = 1.0
_LOCK_SECONDS = 1.0  # nobody else writes, unless somebody examines the file


class StateUnreadable(Exception):
    """The file is damaged, incomplete or of another version; it was not changed."""


class StoredTable(NamedTuple):
    """A table as it is stored: its place, its definition as JSON, and its ARN."""

    arn: str
    account: str
    region: str
    name: str
    definition: str


class TableFile:
    """The file at `path`. Changes belong to one transaction until commit() or rollback(). Raises sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it. Raises StateUnreadable."""
        self._path = path
        self._closing = threading.Event()
        self._flusher = threading.Thread(target=self._flush, name="table-file-flush", daemon=True)
        if not path.exists():
            _create(path)
        try:
            self._connection = _connect(path)
            self._check()
        except sqlite3.DatabaseError as error:
            raise StateUnreadable(str(error)) from error

    def _check(self) -> None:
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise StateUnreadable(f"{self._path} has version {version} instead of {_VERSION}")
        [finding] = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StateUnreadable(f"{self._path}: {finding}")

    def require_writable(self) -> None:
        """Raises sqlite3.Error if the file cannot be changed."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        self._connection.execute("COMMIT")

    def start_flushing(self) -> None:
        """Flush commits to the disk in a thread of its own, so that no request waits for the disk."""
        self._flusher.start()

    def tables(self) -> list[StoredTable]:
        """All tables."""
        rows = self._connection.execute("SELECT arn, account, region, name, definition FROM tables")
        return [StoredTable(*row) for row in rows]

    def items(self, arn: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield partition key, sort key and value of each item of a table. Raises ValueError."""
        select = "SELECT partition_key, sort_key, item FROM items WHERE arn = ?"
        for partition_key, sort_key, item in self._connection.execute(select, (arn,)):
            yield partition_key, sort_key, json.loads(item)

    def settings(self) -> str | None:
        """What else was stored by put_settings(), if anything."""
        row = self._connection.execute("SELECT value FROM settings WHERE name = ?", (_SETTINGS,)).fetchone()
        return row[0] if row else None

    def put_table(self, table: StoredTable) -> None:
        """Store the definition of a table."""
        self._change("INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?, ?)", *table)

    def delete_table(self, arn: str) -> None:
        """Delete a table with its items."""
        self._change("DELETE FROM tables WHERE arn = ?", arn)
        self.delete_items(arn)

    def put_item(self, arn: str, partition_key: str, sort_key: str, item: dict[str, Any]) -> None:
        """Store an item."""
        # ASCII: an item may hold lone surrogates, which SQLite does not take.
        self._change("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)", arn, partition_key, sort_key, json.dumps(item))

    def delete_item(self, arn: str, partition_key: str, sort_key: str) -> None:
        """Delete an item if it exists."""
        condition = "arn = ? AND partition_key = ? AND sort_key = ?"
        self._change(f"DELETE FROM items WHERE {condition}", arn, partition_key, sort_key)  # noqa: S608 - a constant

    def delete_items(self, arn: str) -> None:
        """Delete all items of a table."""
        self._change("DELETE FROM items WHERE arn = ?", arn)

    def put_settings(self, value: str) -> None:
        """Store what else there is besides tables and items."""
        self._change("INSERT OR REPLACE INTO settings VALUES (?, ?)", _SETTINGS, value)

    def commit(self) -> None:
        """Make the changes permanent."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Discard the changes since the last commit."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; everything is in this one file afterwards."""
        self._closing.set()
        if self._flusher.is_alive():
            self._flusher.join()
        self._connection.close()

    def _change(self, statement: str, *values: str) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(statement, values)

    def _flush(self) -> None:
        connection = _connect(self._path)  # a connection in a transaction cannot flush
        while not self._closing.wait(_SECONDS_BETWEEN_FLUSHES):
            # If the disk is full, what was committed stays in the log of the file.
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Open an existing file. `synchronous=NORMAL` flushes at checkpoints, not at each commit (1 ms to 15 ms)."""
    connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _create(path: Path) -> None:
    """Create the file under another name first: a file under its own name is complete, or it is damaged."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        raise StateUnreadable(f"{log} exists without {path}")
    new_file = path.with_suffix(".new")
    new_file.unlink(missing_ok=True)
    connection = sqlite3.connect(new_file, isolation_level=None)
    connection.executescript(f"PRAGMA journal_mode = WAL; BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
    connection.close()
    new_file.replace(path)
