"""Runs ministack so that it ends with the process that started it, and never beside another over the same state.

    python -m gleaner_local.aws._ministack_keeper STATE_DIR    (standard input: a pipe that the starter holds open)

ministack writes its state when it is ended by SIGTERM. Left alone after its starter was killed, it would write
an old state over a newer one some day; so it ends when the pipe closes, and the next one waits until it has.
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
    """Hold the state directory, watch the starter, and be ministack."""
    lock = (Path(sys.argv[1]) / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # until the one before has written its state
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    sys.argv = ["ministack"]
    runpy.run_module("ministack", run_name="__main__")


def _end_with_the_starter() -> None:
    sys.stdin.buffer.read()  # returns when the pipe closes
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
