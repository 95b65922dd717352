"""The query function as SnapStart runs it: loaded, frozen, and restored twice from the same state.

Run as a program. It prints what it holds when it is loaded, waits for a line, and then prints what each of two
restored processes answers to the event on the line and holds then. A fork stands for a restored snapshot: the child
has the memory of its parent, as it was.
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
    """Freeze, and restore twice, one after the other."""
    for function, arguments, named in reversed(get_before_snapshot()):
        function(*arguments, **named)
    frozen = random.getstate()
    _say({"connections": _connections(), "threads": threading.active_count()})
    event = json.loads(sys.stdin.readline())
    for _ in range(2):
        child = os.fork()
        if child == 0:
            _restored(event, frozen)
            os._exit(0)
        os.waitpid(child, 0)


def _restored(event: dict[str, Any], frozen: Any) -> None:
    random.setstate(frozen)  # a fork takes a new seed by itself, which a restored snapshot does not
    for function, arguments, named in get_after_restore():
        function(*arguments, **named)
    context: Any = LocalContext("query", "request-1", ends_at=time.monotonic() + 30)
    with contextlib.redirect_stdout(sys.stderr):
        answer = lambda_handler(event, context)
    _say({"answer": json.loads(answer["body"]), "jitter": random.random(), "connections": _connections()})


def _connections() -> int:
    """How many TCP sockets this process has open."""
    found = 0
    for descriptor in range(256):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as opened:
                    found += opened.type == socket.SOCK_STREAM
    return found


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main()
