"""Spans: what a call was, how long it took and how it ended, for the trace of a question.

Context variables lead to the trace, so a thread that makes calls must run in a copy of the context that it works for.
While nothing is recorded, a span does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Fact = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A call that has ended. It holds nothing that was sent or received."""

    name: str
    started_at: float  # Unix time in seconds
    ended_at: float
    error: str | None  # its class, never its message
    facts: Mapping[str, Fact]
    is_remote: bool  # False: its name is no service's, and it contains the calls that it made


RecordSpan = Callable[[Span], None]

_record: ContextVar[RecordSpan | None] = ContextVar("record", default=None)
_facts: ContextVar[dict[str, Fact] | None] = ContextVar("facts", default=None)


@contextmanager
def record_spans(record: RecordSpan | None) -> Iterator[None]:
    """Call `record` with each span that ends in this context or in a copy of it, in the thread of its call."""
    token = _record.set(record)
    try:
        yield
    finally:
        _record.reset(token)


@contextmanager
def span(name: str, *, is_remote: bool = True, **facts: Fact) -> Iterator[None]:
    """Record one call, also if it raises an error."""
    record = _record.get()
    if record is None:
        yield
        return
    started_at, failure = time.time(), None
    noted = dict(facts)
    token = _facts.set(noted)
    try:
        yield
    except BaseException as error:
        failure = type(error).__name__.lstrip("_")
        raise
    finally:
        _facts.reset(token)
        # A copy: the thread of a call that timed out may still note facts.
        ended_at = time.time()
        record(
            Span(
                name=name,
                started_at=started_at,
                ended_at=ended_at,
                error=failure,
                facts=dict(noted),
                is_remote=is_remote,
            )
        )


def note(**facts: Fact | None) -> None:
    """Add facts to the open span of this context, if there is one. A fact that is None is left out."""
    noted = _facts.get()
    if noted is not None:
        noted.update({name: fact for name, fact in facts.items() if fact is not None})
