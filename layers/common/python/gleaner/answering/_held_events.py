"""Holds the events of a question back until it is admitted, so that a refusal is no part of a stream."""

from __future__ import annotations

from threading import Lock

from gleaner.answering.events import Event, Sink


class HeldEvents:
    """Keeps events until they are released, and passes later ones on, in order. Any thread may call it."""

    def __init__(self, emit: Sink) -> None:
        self._emit = emit
        self._lock = Lock()
        self._waiting: list[Event] | None = []

    def __call__(self, event: Event) -> None:
        """Keep an event, or pass it on."""
        with self._lock:
            if self._waiting is None:
                self._emit(event)
            else:
                self._waiting.append(event)

    def release(self) -> None:
        """Pass on what was kept."""
        with self._lock:
            waiting, self._waiting = self._waiting or (), None
            for event in waiting:
                self._emit(event)
