"""Tells whether a service uses a data directory, and where, by a lock that it holds and a file that it writes."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from gleaner_local.errors import CannotStart

_LOCK = "lock"
_STATE = "running.json"


class NotReady(Exception):
    """The service of a data directory is starting or stopping; the message says so in one line."""


def running_service(data_dir: Path) -> dict[str, Any]:
    """The published state of the service that uses `data_dir`; empty if none runs. Raises NotReady.

    Keys: `url`, `pinecone_index_host`, `access_table` (its name), `unlisted_may_use_all`,
    `documents_url` (of the bucket that it serves, if it does), and `local`, the addresses of the parts that it serves
    itself, by variable.
    """
    try:
        with (data_dir / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_state(data_dir)
    except OSError:  # the directory does not exist, or no service ever ran over it
        pass
    return {}


def acquire_lock(data_dir: Path) -> IO[str]:
    """Acquire the lock of the service over `data_dir`; closing it releases it.

    Raises CannotStart if another service holds it, and OSError.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / ".gitignore").write_text("*\n")  # what is kept here belongs to no repository that it lies in
    lock = (data_dir / _LOCK).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise CannotStart(
            f"Another gleaner serve uses the data directory {data_dir}. Stop it, or choose another with --data-dir."
        ) from error
    lock.write(str(os.getpid()))
    lock.flush()
    (data_dir / _STATE).unlink(missing_ok=True)  # left by a service that was killed
    return lock


def announce(data_dir: Path, state: Mapping[str, Any]) -> Callable[[], None]:
    """Publish the state of the running service; the returned function withdraws it. The caller holds the lock."""
    path = data_dir / _STATE
    new_file = path.with_suffix(".new")
    new_file.write_text(json.dumps(state))
    new_file.replace(path)  # atomic: readers never see half a file
    return lambda: path.unlink(missing_ok=True)


def _read_state(data_dir: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((data_dir / _STATE).read_text())
    except FileNotFoundError:
        raise NotReady(f"The service over {data_dir} is starting or stopping. Try again in a moment.") from None
    return state
