"""Calls with a time limit: what comes of them, what an abandoned one costs the next, and the threads that they use."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from gleaner.clients.time_limit import run_within

AFTER_A_FORK = """
import os
from gleaner.clients.time_limit import run_within
assert run_within(20, os.getpid) == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if run_within(20, os.getpid) == os.getpid() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
MAX_IDLE = 32

asked_by: ContextVar[str] = ContextVar("asked_by", default="nobody")


class Page:
    """Something whose life can be watched."""


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come true within 20 seconds")


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "time-limited-calls"]


def test_the_result_or_the_error_of_a_call_is_the_callers() -> None:
    assert run_within(20, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_within(20, lambda: 1 // 0)
    with pytest.raises(SystemExit):
        run_within(20, sys.exit)
    assert run_within(20, lambda: 8) == 8


def test_an_abandoned_call_does_not_delay_the_next() -> None:
    goes_on = threading.Event()
    try:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                run_within(0.01, goes_on.wait)
        assert run_within(20, lambda: "answered") == "answered"
    finally:
        goes_on.set()


def test_nobody_waits_for_what_follows_a_call() -> None:
    goes_on, followed = threading.Event(), threading.Event()

    def follow() -> None:
        goes_on.wait(20)
        followed.set()

    assert run_within(20, lambda: 1, then=follow) == 1
    assert run_within(20, lambda: 2) == 2
    assert not followed.is_set()
    goes_on.set()
    assert followed.wait(20)


def test_a_call_has_the_context_of_its_caller_and_leaves_nothing_in_it() -> None:
    def ask() -> str:
        found = asked_by.get()
        asked_by.set("the last call")
        return found

    token = asked_by.set("ann")
    assert run_within(20, ask) == "ann"
    assert asked_by.get() == "ann"
    asked_by.reset(token)
    assert run_within(20, ask) == "nobody"


def test_calls_in_turn_share_threads() -> None:
    assert len({run_within(20, threading.current_thread) for _ in range(50)}) < 10


def test_of_many_calls_at_a_time_few_threads_remain() -> None:
    all_run = threading.Barrier(2 * MAX_IDLE)
    with ThreadPoolExecutor(2 * MAX_IDLE) as callers:
        outcomes = [callers.submit(run_within, 60, lambda: all_run.wait(60)) for _ in range(2 * MAX_IDLE)]
        assert len({outcome.result() for outcome in outcomes}) == 2 * MAX_IDLE
    wait_until(lambda: len(own_threads()) < 1.5 * MAX_IDLE)  # other tests may have left a call that still runs
    assert run_within(20, lambda: 1) == 1


def test_a_thread_that_waits_keeps_nothing_of_its_last_call() -> None:
    page = Page()
    alive = weakref.ref(page)
    assert run_within(20, lambda kept=page: kept) is page
    del page
    wait_until(lambda: gc.collect() >= 0 and alive() is None)


def test_a_child_process_makes_calls() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", AFTER_A_FORK], check=True, timeout=60)
