"""EventBridge Scheduler on this machine: invokes a function periodically with a Scheduler event."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gleaner_local.aws.execution_environment import HandlerFailed

logger = logging.getLogger(__name__)


class Schedule:
    """Invokes a function every `seconds`, for the first time after `seconds`."""

    def __init__(self, invoke: Callable[[dict[str, Any], str], Any], *, seconds: float) -> None:
        self._invoke = invoke
        self._seconds = seconds
        self._stop_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)

    def start(self) -> None:
        """Start the schedule."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the schedule and wait for an invocation in flight."""
        self._stop_requested.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop_requested.wait(self._seconds):
            execution = str(uuid.uuid4())
            try:
                self._invoke(scheduler_event(execution), execution)
            except HandlerFailed:
                logger.exception("The scheduled function failed")


def scheduler_event(execution: str) -> dict[str, Any]:
    """The event that EventBridge Scheduler sends if its target defines no input."""
    return {
        "version": "0",
        "id": execution,
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "000000000000",
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "us-east-1",
        "resources": ["arn:aws:scheduler:us-east-1:000000000000:schedule/default/gleaner-prune"],
        "detail": "{}",
    }
