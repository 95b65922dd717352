"""A circuit breaker: a service that keeps failing is left alone for a while."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class CircuitBreaker:
    """Opens after `failures` calls in a row have failed; then lets one call through each `cool_down` seconds.

    The first that succeeds closes it again (Nygard, Release It!, 2007). The caller asks `admits` before a
    call and says what became of it. Threads may share it; no lock is held during a call.
    """

    def __init__(self, name: str, *, failures: int, cool_down: float, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds. It is the wall clock's: a frozen Lambda environment counts no other time."""
        self._name = name
        self._limit = failures
        self._cool_down = cool_down
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = 0.0

    def admits(self) -> bool:
        """Whether a call may be made now. While it is open, one call is admitted as a probe."""
        with self._lock:
            if self._failures < self._limit:
                return True
            now = self._clock()
            # A clock that was set back must not keep it open for longer than the cool-down.
            if now < self._next_try <= now + self._cool_down:
                return False
            # Put off the next probe at once: others must not follow, and a probe may never report.
            self._next_try = now + self._cool_down
            return True

    def succeeded(self) -> None:
        """A call succeeded."""
        with self._lock:
            self._failures = 0

    def failed(self, *, for_good: bool = False) -> None:
        """A call failed; `for_good` when the next ones will, too, so that it opens at once."""
        with self._lock:
            before = self._failures
            self._failures = max(before + 1, self._limit if for_good else 0)
            self._next_try = self._clock() + self._cool_down
        if before < self._limit <= self._failures:
            logger.warning("circuit opened", extra={"circuit": self._name, "cool_down": self._cool_down})
