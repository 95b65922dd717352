"""A wall-clock limit for a blocking call that retries by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def run_within(seconds: float, call: Callable[[], Result]) -> Result:
    """What `call` returns or raises, or TimeoutError after `seconds`.

    The call runs in a daemon thread of its own: one that is given up must neither hold up the end of the
    process nor take a worker from the calls that follow.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - handed to the waiting caller, who raises it
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    threading.Thread(target=run, name="time-limited-call", daemon=True).start()
    return outcome.result(timeout=seconds)
