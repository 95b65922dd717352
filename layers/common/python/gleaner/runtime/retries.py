"""Retry of a remote call inside the one deadline of the query."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from gleaner.runtime.deadline import Deadline

T = TypeVar("T")

_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 2.0


def with_retries(
    call: Callable[[], T],
    *,
    retry_after: Callable[[Exception], float | None],
    deadline: Deadline,
    attempts: int,
) -> T:
    """Make `call` until it succeeds, at most `attempts` times and never beyond `deadline`.

    `retry_after(error)` says how many seconds the service asked to wait (0 when it did not ask), or None
    when the error is final. Between attempts it waits that long, or a random time up to an exponentially
    growing bound ("full jitter", AWS Architecture Blog, 2015), whichever is longer. An error that is final,
    or whose wait does not fit before the deadline, is raised as it came.
    """
    for attempt in range(attempts):
        try:
            return call()
        except Exception as error:
            asked = retry_after(error)
            if asked is None or attempt == attempts - 1:
                raise
            bound = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2**attempt)
            wait = max(asked, random.uniform(0, bound))  # noqa: S311 - spreads load, guards nothing
            if wait >= deadline.remaining():
                raise
            time.sleep(wait)
    raise ValueError("attempts must be at least 1")
