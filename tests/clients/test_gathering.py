"""When the network is read: at once what somebody waits for, and the rest at intervals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gleaner.clients import _streamed_answer


class Clock:
    """A clock that only chunks and pauses move."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def read(
    clock: Clock, *, interval: float, count: int, patience: float, reading: float = 0.0005, step: float = 0.0
) -> Iterator[float]:
    """The seconds that each chunk of a model that sends one at each interval waits until it is read.

    As the HTTP client does, all that is on the network is taken at once. `reading` seconds are spent on each chunk, and
    `step` on getting it, even if it was taken before.
    """
    taken = 0

    def arrived() -> int:
        return min(count, int(clock.now / interval) + 1)

    def chunks() -> Iterator[bytes]:
        nonlocal taken
        for number in range(count):
            if number == taken:
                clock.now = max(clock.now, number * interval)
                taken = arrived()
            clock.now += step
            yield str(number).encode()

    for chunk in _streamed_answer._gather(chunks(), lambda: patience, lambda: arrived() > taken):
        yield clock.now - int(chunk) * interval
        clock.now += reading


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_streamed_answer, "time", clock)
    return clock


def test_a_slow_model_is_never_waited_for_while_somebody_waits(clock: Clock) -> None:
    assert max(read(clock, interval=0.02, count=200, patience=0)) == 0
    assert clock.pauses == []


def test_with_patience_a_slow_model_is_read_in_few_pauses(clock: Clock) -> None:
    delays = list(read(clock, interval=0.02, count=200, patience=0.1))
    assert len(clock.pauses) < 50
    assert max(delays) <= 0.1
    assert max(delays[:10]) <= 0.25 * 0.2  # of the time so far


@pytest.mark.parametrize("patience", [0, 0.1])
@pytest.mark.parametrize(("reading", "step"), [(0.00005, 0), (0.0005, 0), (0.0005, 0.0002), (0.001, 0.0005)])
def test_a_fast_model_is_read_in_few_pauses_and_nothing_falls_behind(
    clock: Clock, patience: float, reading: float, step: float
) -> None:
    delays = list(read(clock, interval=0.002, count=2000, patience=patience, reading=reading, step=step))
    assert 0 < len(clock.pauses) < 500
    assert max(delays) <= 5 * max(patience, 0.01)  # also on a machine that is busy for three quarters of the time
