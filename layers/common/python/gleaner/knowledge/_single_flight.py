"""Lets equal calls that run at the same time share one result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs one call for each key at a time; calls that come meanwhile wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Hashable, Future[T]] = {}

    def run(self, key: Hashable, call: Callable[[], T], *, timeout: float) -> tuple[T, bool]:
        """Return the result, and whether this caller ran the call. Raises what the call raises.

        Raises TimeoutError if the call of another caller takes longer than `timeout` seconds.
        """
        with self._lock:
            running = self._running.get(key)
            future = running or self._running.setdefault(key, Future())
        if running is not None:
            return running.result(timeout), False
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running[key]
        return future.result(), True
