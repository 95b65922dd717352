"""The circuit breaker with a clock that tests control."""

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


def open_circuit(clock: Clock) -> CircuitBreaker:
    circuit = CircuitBreaker("s", failures=2, cool_down=10, clock=clock)
    circuit.record_failure()
    circuit.record_failure()
    return circuit


def test_only_one_of_many_threads_probes() -> None:
    clock = Clock()
    circuit = open_circuit(clock)
    clock.now = 10
    barrier = threading.Barrier(8)

    def ask(_: int) -> bool:
        barrier.wait()
        return circuit.allow_call()

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, range(8))) == 1


def test_another_probe_follows_one_that_never_reports() -> None:
    clock = Clock()
    circuit = open_circuit(clock)
    clock.now = 10
    assert circuit.allow_call()
    clock.now = 19
    assert not circuit.allow_call()
    clock.now = 20
    assert circuit.allow_call()


def test_setting_the_clock_back_does_not_keep_the_circuit_open() -> None:
    clock = Clock()
    clock.now = 1_000_000
    circuit = open_circuit(clock)
    clock.now = 5
    assert circuit.allow_call()


@given(st.lists(st.sampled_from(["ok", "fail", "wait"]), max_size=40))
def test_it_opens_only_after_consecutive_failures_and_for_a_limited_time(events: list[str]) -> None:
    clock = Clock()
    circuit = CircuitBreaker("s", failures=3, cool_down=10, clock=clock)
    consecutive_failures = 0
    for event in events:
        clock.now += 10 if event == "wait" else 0
        if not circuit.allow_call():
            assert consecutive_failures >= 3
            continue
        if event == "fail":
            circuit.record_failure()
            consecutive_failures += 1
        else:
            circuit.record_success()
            consecutive_failures = 0
    clock.now += 10
    assert circuit.allow_call()
