"""The query function as SnapStart runs it: loaded, frozen, and restored twice from the same state.

Run it as a program. It prints its connections and threads once loaded, and reads an event from one line. Then each
of two restored processes prints its answer to the event, and its connections. A fork simulates a restored snapshot:
the child starts with a copy of its parent's memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import stat
import sys
import threading
import time
from typing import Any

from snapshot_restore_py import get_after_restore, get_before_snapshot

from functions.query.handler import lambda_handler
from gleaner_local.aws.execution_environment import LocalContext


def main() -> None:
    """Freeze the function, then restore it twice, one process after the other."""
    for function, arguments, keyword_arguments in reversed(get_before_snapshot()):
        function(*arguments, **keyword_arguments)
    random_state = random.getstate()
    _print_json({"connections": _count_connections(), "threads": threading.active_count()})
    event = json.loads(sys.stdin.readline())
    for _ in range(2):
        child = os.fork()
        if child == 0:
            _restore(event, random_state)
            os._exit(0)
        os.waitpid(child, 0)


def _restore(event: dict[str, Any], random_state: Any) -> None:
    random.setstate(random_state)  # a fork reseeds the generator, but a restored snapshot does not
    for function, arguments, keyword_arguments in get_after_restore():
        function(*arguments, **keyword_arguments)
    context: Any = LocalContext("query", "request-1", ends_at=time.monotonic() + 30)
    with contextlib.redirect_stdout(sys.stderr):
        answer = lambda_handler(event, context)
    _print_json({"answer": json.loads(answer["body"]), "jitter": random.random(), "connections": _count_connections()})


def _count_connections() -> int:
    """The number of open TCP sockets of this process."""
    count = 0
    for descriptor in range(256):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as connection:
                    count += connection.type == socket.SOCK_STREAM
    return count


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main()
