"""Writes that a query does not wait for until its answer is ready."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait

from gleaner.runtime.deadline import Deadline

logger = logging.getLogger(__name__)

_LONGEST_FLUSH_SECONDS = 3.0


class Background:
    """The writes of one query that go on beside its work."""

    def __init__(self, executor: Executor, deadline: Deadline) -> None:
        self._executor = executor
        self._deadline = deadline
        self._writes: list[tuple[str, Future[None]]] = []

    def submit(self, what: str, write: Callable[[], None]) -> None:
        """Begin a write; `what` names it in the log when it fails."""
        self._writes.append((what, self._executor.submit(write)))

    def flush(self) -> None:
        """Wait until all are done, some seconds at the most and never beyond the deadline.

        What failed is logged: the answer is worth more, and a throttled table must not hold it up.
        """
        timeout = max(0.0, min(_LONGEST_FLUSH_SECONDS, self._deadline.remaining()))
        wait([future for _, future in self._writes], timeout=timeout)
        for what, future in self._writes:
            if not future.done():
                logger.error("a write was not done in time", extra={"write": what})
            elif (error := future.exception()) is not None:
                logger.error("a write failed", extra={"write": what}, exc_info=error)
        self._writes.clear()
