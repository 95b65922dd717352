"""How long loading waits for an index, and for which of its failures."""

from __future__ import annotations

import pytest

from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseTimedOut, KnowledgeBaseUnavailable
from gleaner.runtime.deadline import Deadline
from gleaner_documents.loading.waiting import Waiting

BUSY, BROKEN = KnowledgeBaseBusy("busy"), KnowledgeBaseUnavailable("HTTP 503")


def test_no_wait_ends_after_the_deadline() -> None:
    waits: list[float] = []
    waiting = Waiting(say=waits.append, deadline=Deadline.after(30), sleep=lambda _seconds: None)
    waiting(BUSY, 0)
    with pytest.raises(KnowledgeBaseBusy):
        waiting(BUSY, 5)
    with pytest.raises(KnowledgeBaseBusy):
        waiting(KnowledgeBaseBusy("busy", retry_after=60.0), 0)
    assert len(waits) == 1


def test_other_failures_are_tried_again_a_few_times_for_each_request() -> None:
    waits: list[float] = []
    waiting = Waiting(say=waits.append, max_failures=2, sleep=lambda _seconds: None)
    for _ in range(2):
        waiting(BROKEN, 0)
        waiting(BUSY, 1)
        waiting(BROKEN, 2)
        with pytest.raises(KnowledgeBaseUnavailable):
            waiting(BROKEN, 3)
    assert len(waits) == 6


def test_an_answer_that_did_not_come_is_not_asked_for_again() -> None:
    waiting = Waiting(say=lambda _seconds: None, max_failures=3, sleep=lambda _seconds: None)
    with pytest.raises(KnowledgeBaseTimedOut):
        waiting(KnowledgeBaseTimedOut("late"), 0)


def test_without_a_number_of_failures_none_is_waited_for() -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        Waiting(say=lambda _seconds: None)(BROKEN, 0)
