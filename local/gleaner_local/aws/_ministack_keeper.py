"""Runs ministack so that it ends with the process that started it and loses nothing that it answered.

    python -m gleaner_local.aws._ministack_keeper STATE_DIR    (standard input: a pipe that the parent keeps open)

Only one process may use a state directory. This one waits until the previous one has ended, which it does when the
pipe closes, also if the parent was killed.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import signal
import sqlite3
import sys
import threading
from pathlib import Path

from gleaner_local.aws import _ministack_process
from gleaner_local.aws._durable_tables import DurableTables
from gleaner_local.aws._table_file import StateUnreadable, TableFile


def main() -> None:
    """Lock the state directory, watch the parent, load the tables and become ministack."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    state_dir = Path(sys.argv[1])
    try:
        lock = (state_dir / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits until the previous one has ended
        file = _load_tables(state_dir)
    except StateUnreadable as error:
        print(f"The tables cannot be read: {error}", file=sys.stderr)
        sys.exit(_ministack_process.UNREADABLE)
    except (OSError, sqlite3.Error) as error:
        print(f"The tables cannot be written: {error}", file=sys.stderr)
        sys.exit(_ministack_process.NOT_WRITABLE)
    sys.argv = ["ministack"]
    try:
        runpy.run_module("ministack", run_name="__main__")
    finally:
        file.close()


def _load_tables(state_dir: Path) -> TableFile:
    file = TableFile(state_dir / "tables.sqlite")
    tables = DurableTables(file)
    tables.load()
    file.require_writable()
    tables.take_over(state_dir / "dynamodb.json")
    tables.install()
    file.start_flushing()
    return file


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the pipe closes; sys.stdin.buffer would hold a lock at the exit
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
