"""The circuit breaker against a clock that tests move."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._circuit_breaker import CircuitBreaker


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> CircuitBreaker:
    circuit = CircuitBreaker("s", failures=2, cool_down=10, clock=clock)
    circuit.failed()
    circuit.failed()
    return circuit


def test_one_of_many_threads_is_the_probe() -> None:
    clock = Clock()
    circuit = opened(clock)
    clock.now = 10
    together = threading.Barrier(8)

    def ask(_: int) -> bool:
        together.wait()
        return circuit.admits()

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, range(8))) == 1


def test_a_probe_that_never_reports_is_followed_by_another() -> None:
    clock = Clock()
    circuit = opened(clock)
    clock.now = 10
    assert circuit.admits()
    clock.now = 19
    assert not circuit.admits()
    clock.now = 20
    assert circuit.admits()


def test_a_clock_that_is_set_back_does_not_keep_it_open() -> None:
    clock = Clock()
    clock.now = 1_000_000
    circuit = opened(clock)
    clock.now = 5
    assert circuit.admits()


@given(st.lists(st.sampled_from(["ok", "fail", "wait"]), max_size=40))
def test_it_is_open_only_after_failures_in_a_row_and_for_a_bounded_time(events: list[str]) -> None:
    clock = Clock()
    circuit = CircuitBreaker("s", failures=3, cool_down=10, clock=clock)
    in_a_row = 0
    for event in events:
        clock.now += 10 if event == "wait" else 0
        if not circuit.admits():
            assert in_a_row >= 3
            continue
        if event == "fail":
            circuit.failed()
            in_a_row += 1
        else:
            circuit.succeeded()
            in_a_row = 0
    clock.now += 10
    assert circuit.admits()
