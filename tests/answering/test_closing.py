"""What ends a question is written whatever becomes of its parts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from gleaner.answering._closing import ClosingWrite, close
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner.stores.statements import NOT_EXECUTED, Result, Statement

STATEMENT = Statement("UPDATE", ())


def executes(results: list[Result]) -> Any:
    def execute(statements: Sequence[Statement], *, deadline: Deadline) -> list[Result]:
        assert len(statements) == len(results)
        return results

    return execute


def test_a_write_that_is_throttled_until_its_end_leaves_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    done: list[str] = []

    def is_throttled(_: Result, deadline: Deadline) -> None:
        nonlocal now
        now = deadline.at
        raise StoreUnavailable("throttled")

    def write(what: str) -> ClosingWrite:
        def finish(_: Result, deadline: Deadline) -> None:
            deadline.timeout(1)  # raises if no time is left
            done.append(what)

        return ClosingWrite(what, finish, STATEMENT)

    writes = [ClosingWrite("usage", is_throttled, STATEMENT), write("first call"), write("second call")]
    close(executes([NOT_EXECUTED] * 3), lambda: writes)
    assert done == ["first call", "second call"]
    assert now < 103


@pytest.mark.parametrize("error", [StoreUnavailable("no"), DeadlineExceeded("late")])
def test_what_a_request_left_undone_is_done_by_single_writes(error: Exception) -> None:
    found: list[Result] = []

    def fail(*_: Any, **__: Any) -> list[Result]:
        raise error

    close(fail, lambda: [ClosingWrite("call", lambda result, _: found.append(result), STATEMENT)] * 2)
    assert found == [NOT_EXECUTED] * 2


def test_each_write_gets_the_result_of_its_own_statement() -> None:
    found: list[tuple[str, Result]] = []
    done, refused = Result(is_done=True), Result(is_done=False, is_refused=True)

    def write(what: str, statement: Statement | None) -> ClosingWrite:
        return ClosingWrite(what, lambda result, _: found.append((what, result)), statement)

    close(executes([done, refused]), lambda: [write("a", STATEMENT), write("b", None), write("c", STATEMENT)])
    assert found == [("a", done), ("b", NOT_EXECUTED), ("c", refused)]
