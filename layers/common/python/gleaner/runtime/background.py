"""Background writes of a query, awaited only when its answer is ready."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

from gleaner.runtime.deadline import Deadline

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_FLUSH_SECONDS = 3.0


class Background:
    """Runs the writes of one query in parallel with its other work."""

    def __init__(self, executor: Executor, deadline: Deadline) -> None:
        self._executor = executor
        self._deadline = deadline
        self._writes: list[tuple[str, Future[None]]] = []

    def submit(self, what: str, write: Callable[[], None]) -> None:
        """Start a write; `what` names it in the log if it fails."""
        self._writes.append((what, self._executor.submit(write)))

    def prepare(self, work: Callable[[], T]) -> Future[T]:
        """Start work that a later write needs; `flush` does not wait for it."""
        return self._executor.submit(work)

    def flush(self) -> None:
        """Wait for all writes, for a few seconds at most and never beyond the deadline.

        Failures are only logged: a throttled table must not delay or fail the answer.
        """
        timeout = max(0.0, min(_MAX_FLUSH_SECONDS, self._deadline.remaining()))
        wait([future for _, future in self._writes], timeout=timeout)
        for what, future in self._writes:
            if not future.done():
                logger.error("a write was not done in time", extra={"write": what})
            elif (error := future.exception()) is not None:
                logger.error("a write failed", extra={"write": what}, exc_info=error)
        self._writes.clear()
