"""A clock for deadlines that only the test moves, so that a machine that stalls uses up no time."""

from __future__ import annotations

import time


class StillClock:
    """Stands still until it is moved. Waits and time limits of single calls keep the time of the machine."""

    def __init__(self) -> None:
        self._now = time.monotonic()

    def monotonic(self) -> float:
        """The time that deadlines see."""
        return self._now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
