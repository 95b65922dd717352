"""Retries of remote calls within the deadline of the query."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from gleaner.runtime.deadline import Deadline

T = TypeVar("T")

_FIRST_WAIT_SECONDS = 0.05
_MAX_WAIT_SECONDS = 2.0


def with_retries(
    call: Callable[[], T],
    *,
    retry_after: Callable[[Exception], float | None],
    deadline: Deadline,
    attempts: int,
) -> T:
    """Call `call` until it succeeds, at most `attempts` times and never beyond `deadline`.

    `retry_after(error)` returns the seconds that the service asked to wait (0 if it did not ask), or None if
    the error is final. Between attempts this waits that long, or a random time up to an exponentially growing
    bound ("full jitter", AWS Architecture Blog, 2015), whichever is longer. A final error, or one whose wait
    would exceed the deadline, is raised unchanged.
    """
    for attempt in range(attempts):
        try:
            return call()
        except Exception as error:
            requested_wait = retry_after(error)
            if requested_wait is None or attempt == attempts - 1:
                raise
            bound = min(_MAX_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2**attempt)
            wait = max(requested_wait, random.uniform(0, bound))  # noqa: S311 - jitter, not security
            if wait >= deadline.remaining():
                raise
            time.sleep(wait)
    raise ValueError("attempts must be at least 1")
