"""A wall-clock limit for blocking calls that retry by themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

Result = TypeVar("Result")


def run_within(seconds: float, call: Callable[[], Result], *, then: Callable[[], None] | None = None) -> Result:
    """Return or raise what `call` does, or raise TimeoutError after `seconds`.

    The call runs in a copy of the caller's context, and in its own daemon thread: an abandoned call must neither delay
    the exit of the process nor occupy a worker of a pool. `then` runs after it in that thread, and nobody waits for it.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - re-raised in the waiting thread
            outcome.set_exception(error)
        else:
            outcome.set_result(result)
        if then is not None:
            then()

    threading.Thread(target=copy_context().run, args=(run,), name="time-limited-call", daemon=True).start()
    return outcome.result(timeout=seconds)
