"""A circuit breaker stops calls to a service that keeps failing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class CircuitBreaker:
    """Opens after `failures` consecutive failures, then lets one call through every `cool_down` seconds.

    The first success closes it again (Nygard, Release It!, 2007). The caller asks `allow_call` before a
    call and records the result. Threads may share an instance; no lock is held during a call.
    """

    def __init__(self, name: str, *, failures: int, cool_down: float, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns seconds. It is the wall clock: monotonic time stops in a frozen Lambda environment."""
        self._name = name
        self._limit = failures
        self._cool_down = cool_down
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = 0.0

    def allow_call(self) -> bool:
        """Return whether a call may be made now. While the circuit is open, one call is allowed as a probe."""
        with self._lock:
            if self._failures < self._limit:
                return True
            now = self._clock()
            # If the clock was set back, the circuit must not stay open for longer than the cool-down.
            if now < self._next_try <= now + self._cool_down:
                return False
            # Schedule the next probe now: no other thread may probe meanwhile, and this probe may never report.
            self._next_try = now + self._cool_down
            return True

    def record_success(self) -> None:
        """Close the circuit."""
        with self._lock:
            self._failures = 0

    def record_failure(self, *, permanent: bool = False) -> None:
        """Count a failed call. A `permanent` failure opens the circuit at once: the next calls would fail, too."""
        with self._lock:
            before = self._failures
            self._failures = max(before + 1, self._limit if permanent else 0)
            self._next_try = self._clock() + self._cool_down
        if before < self._limit <= self._failures:
            logger.warning("circuit opened", extra={"circuit": self._name, "cool_down": self._cool_down})
