"""A wall-clock limit for blocking calls that retry by themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")
_Calls = SimpleQueue[Callable[[], None]]  # of one thread

_MAX_IDLE = 32  # threads that wait for another call; a question makes up to eight calls, three at a time

_idle: list[_Calls] = []  # the thread that was used last is the last one
os.register_at_fork(after_in_child=_idle.clear)  # a child process has no thread but the one that forked


def run_within(seconds: float, call: Callable[[], Result], *, then: Callable[[], None] | None = None) -> Result:
    """Return or raise what `call` does, or raise TimeoutError after `seconds`.

    The call runs in a copy of the caller's context, and in a daemon thread that no other call waits for: an abandoned
    call must neither delay the exit of the process nor occupy a worker of a pool. `then` runs after it in that thread,
    and nobody waits for it. Threads are used again: to start one takes half a millisecond of CPU.
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

    _take_thread().put(partial(copy_context().run, run))
    return outcome.result(timeout=seconds)


def _take_thread() -> _Calls:
    try:
        return _idle.pop()
    except IndexError:
        calls: _Calls = SimpleQueue()
        threading.Thread(target=_run_all, args=(calls,), name="time-limited-calls", daemon=True).start()
        return calls


def _run_all(calls: _Calls) -> None:
    """Run calls until enough other threads are idle. An idle thread keeps nothing of its last call."""
    while True:
        calls.get()()
        if len(_idle) >= _MAX_IDLE:
            return
        _idle.append(calls)
