"""Writes what ends a question beside its turn, in one request: what it cost, and the records of its tool calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner.stores.statements import NOT_EXECUTED, Result, Statement

logger = logging.getLogger(__name__)

_MAX_SECONDS = 3.0

Execute = Callable[..., list[Result]]


@dataclass(frozen=True, slots=True)
class ClosingWrite:
    """A write that may be a statement among others. `finish` does what the statement's result leaves to be done."""

    what: str  # names it in the log if it fails
    finish: Callable[[Result, Deadline], None]
    statement: Statement | None = None


def close(execute: Execute, prepare: Callable[[], Sequence[ClosingWrite]]) -> None:
    """Do these writes; one that fails, or takes long, is logged and keeps no other from being done."""
    deadline = Deadline.after(_MAX_SECONDS)
    writes = prepare()
    statements = [write.statement for write in writes if write.statement]
    results = iter(_execute(execute, statements, deadline.part(_MAX_SECONDS)))
    for place, write in enumerate(writes):
        share = deadline.share(len(writes) - place)
        try:
            write.finish(next(results) if write.statement else NOT_EXECUTED, share)
        except (StoreUnavailable, DeadlineExceeded) as error:
            logger.error("a write failed", extra={"write": write.what}, exc_info=error)  # noqa: TRY400 - as Background


def _execute(execute: Execute, statements: Sequence[Statement], deadline: Deadline) -> list[Result]:
    try:
        return execute(statements, deadline=deadline)
    except (StoreUnavailable, DeadlineExceeded):  # the store fails the single writes, too, or is back by then
        return [NOT_EXECUTED] * len(statements)
