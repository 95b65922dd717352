"""When the network is read: at once what somebody waits for, and the rest at intervals."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpcore2
import pytest

from gleaner.clients import _body_streams, _streamed_answer

MAX_BYTES = 65_536


class Clock:
    """A clock that only reading and pauses move."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class Model(httpcore2.NetworkStream):
    """A connection to a model that sends a chunk at each interval; a TLS record holds one, otherwise all are read."""

    def __init__(self, clock: Clock, *, interval: float, count: int, has_records: bool) -> None:
        self._clock = clock
        self._interval = interval
        self._count = count
        self._has_records = has_records
        self._taken = -1  # the head comes first

    def _arrived(self) -> int:
        return min(self._count, int(self._clock.now / self._interval) + 1)

    def write(self, _buffer: bytes, _timeout: float | None = None) -> None:
        """Take the request."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """What has come, once something has."""
        if self._taken < 0:
            self._taken = 0
            return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        if self._taken == self._count:
            return b"0\r\n\r\n"
        self._clock.now = max(self._clock.now, self._taken * self._interval)
        begin, self._taken = self._taken, self._taken + 1
        if not self._has_records:
            self._taken = max(self._taken, self._arrived())
        return b"".join(b"6\r\n%05d \r\n" % number for number in range(begin, self._taken))

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002
        """Whether there is more."""
        return self._taken < self._arrived()


def read(
    clock: Clock, *, interval: float, count: int, patience: float, reading: float = 0.0005, has_records: bool = False
) -> Iterator[float]:
    """The seconds that each chunk of a model that sends one at each interval waits until it is read.

    `reading` seconds are spent on each chunk.
    """
    connection = _body_streams.BodyStream(Model(clock, interval=interval, count=count, has_records=has_records))
    connection.write(b"POST")
    connection.read(MAX_BYTES)
    partials: Any = SimpleNamespace(patience=patience, require_open=lambda: None)
    stream: Any = None
    stream_reading = _streamed_answer._Reading(stream, stream, partials)
    stream_reading._chunks = connection.read_chunks(stream_reading._pause, None)
    for chunk in stream_reading._bounded_chunks():
        for number in chunk.split():
            yield clock.now - int(number) * interval
            clock.now += reading
    assert connection.read(MAX_BYTES) == b"0\r\n\r\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_streamed_answer, "time", clock)
    monkeypatch.setattr(_body_streams, "time", clock)
    return clock


@pytest.mark.parametrize("has_records", [False, True])
def test_a_slow_model_is_never_waited_for_while_somebody_waits(clock: Clock, has_records: bool) -> None:
    assert max(read(clock, interval=0.02, count=200, patience=0, has_records=has_records)) == 0
    assert len(clock.pauses) <= 1  # after the first chunk, which was there: the others may come as fast


@pytest.mark.parametrize("has_records", [False, True])
def test_with_patience_a_slow_model_is_read_in_few_pauses(clock: Clock, has_records: bool) -> None:
    delays = list(read(clock, interval=0.02, count=200, patience=0.1, has_records=has_records))
    assert len(delays) == 200
    assert len(clock.pauses) < 50
    assert max(delays) <= 0.1 + 0.01
    assert max(delays[:10]) <= 0.2 / 3  # of the time so far


@pytest.mark.parametrize("has_records", [False, True])
@pytest.mark.parametrize("patience", [0, 0.1])
@pytest.mark.parametrize("reading", [0.00005, 0.0005, 0.001])
def test_a_fast_model_is_read_in_few_pauses_and_nothing_falls_behind(
    clock: Clock, patience: float, reading: float, has_records: bool
) -> None:
    delays = list(read(clock, interval=0.002, count=2000, patience=patience, reading=reading, has_records=has_records))
    assert 0 < len(clock.pauses) < 500
    assert max(delays) <= 2 * max(patience, 0.01)
