"""The searches of a question that the stacks calculate with are those that the agent loop allows."""

from __future__ import annotations

import pytest

from gleaner.answering.steps import LoopLimits
from infra.limits import SEARCHES_PER_QUESTION


@pytest.mark.parametrize("seconds", [1.0, 25.0, 60.0, 600.0])
def test_a_question_searches_as_often_as_the_stacks_assume(seconds: float) -> None:
    assert LoopLimits.for_deadline(seconds).knowledge_base_searches == SEARCHES_PER_QUESTION
