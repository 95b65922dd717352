"""Keeps the idle execution environments of a function, and says when another one may start."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

_PATIENCE_SECONDS = 0.2  # a call waits so long for a running environment before it starts another: a start takes longer

Environment = TypeVar("Environment")


class IdleSlots(Generic[Environment]):
    """Environments that wait for events, and slots for those that have not started."""

    def __init__(self, slots: int) -> None:
        self._all = self._slots = slots
        self._environments: list[Environment] = []
        self._changed = threading.Condition()

    def take(self) -> Environment | None:
        """The environment that was used last, or None: a slot for another one."""
        with self._changed:
            if self._slots < self._all:  # a browser asks for a page in many requests, which take milliseconds
                self._changed.wait_for(lambda: self._environments, _PATIENCE_SECONDS)
            self._changed.wait_for(lambda: self._environments or self._slots)
            if self._environments:
                return self._environments.pop()
            self._slots -= 1
            return None

    def put(self, environment: Environment | None) -> None:
        """Give an environment back, or the slot of one that has ended."""
        with self._changed:
            if environment is None:
                self._slots += 1
            else:
                self._environments.append(environment)
            self._changed.notify_all()

    def take_all(self) -> list[Environment]:
        """All environments; they have no slots any more."""
        with self._changed:
            environments, self._environments = self._environments, []
            return environments
