"""Runs ministack so that it ends with the process that started it and is never the second one over a state.

    python -m gleaner_local.aws._ministack_keeper STATE_DIR    (standard input: a pipe that the parent keeps open)

ministack writes its state on SIGTERM. If it outlived a parent that was killed, it would overwrite a newer state
with an old one some day. So it ends when the pipe closes, and the next one waits for that.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """Lock the state directory, watch the parent and become ministack."""
    lock = (Path(sys.argv[1]) / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # waits until the previous one has written its state
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = ["ministack"]
    runpy.run_module("ministack", run_name="__main__")


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # returns when the pipe closes
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
