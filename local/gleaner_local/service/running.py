"""Whether a service runs over a data directory, and where: a lock that it holds, and a file that it writes."""

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
    """The service over a data directory is neither up nor down; the message says so in one line."""


def running_service(data_dir: Path) -> dict[str, Any]:
    """What a service that runs over `data_dir` says of itself; empty if none runs. Raises NotReady.

    `url`, `pinecone_index_host`, and `local`: the addresses of the parts that it serves itself, by variable.
    """
    try:
        with (data_dir / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_state(data_dir)
    except OSError:  # there is no directory, or no service ever ran over it
        pass
    return {}


def take(data_dir: Path) -> IO[str]:
    """The lock of a service over `data_dir`, held until it is closed.

    Raises CannotStart when another service holds it, and OSError.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
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
    (data_dir / _STATE).unlink(missing_ok=True)  # of one that was killed
    return lock


def announce(data_dir: Path, state: Mapping[str, Any]) -> Callable[[], None]:
    """Write what the running service says of itself; what is returned takes it back. Call it under the lock."""
    path = data_dir / _STATE
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(state))
    whole.replace(path)  # at once: who reads it finds all of it or nothing
    return lambda: path.unlink(missing_ok=True)


def _read_state(data_dir: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((data_dir / _STATE).read_text())
    except FileNotFoundError:
        raise NotReady(f"The service over {data_dir} is starting or stopping. Try again in a moment.") from None
    return state
