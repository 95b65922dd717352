"""Misbehaving models that stream: the events end in the answer, or the question raises its error."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner.answering.events import AnswerDelta, Answered, Event
from gleaner.answering.exchange import Answer
from gleaner.answering.question import Services
from gleaner.errors import AnswerFailed, AnswerRefused, ModelUnavailable
from tests.answering.asking import LONG, ask, in_order, text_of
from tests.doubles.model_faults import ANSWER_FAULTS, ANSWER_ODDITIES, FAULTS, ODDITIES, REFUSALS
from tests.doubles.scripted_model import ScriptedModel, calls, search

SEARCH, ANSWER = search(), in_order(LONG, confidence_score=0.9)


def require_answer(events: list[Event], given: Answer | None) -> None:
    """Require that a reader of the deltas has the very answer."""
    assert given is not None
    assert events[-1] == Answered(answer=given)
    assert text_of(events) == given.text
    assert not any(isinstance(event, AnswerDelta) and not event.text for event in events)


@pytest.mark.slow  # quick: answers that cannot be accepted, below
@pytest.mark.parametrize("fault", FAULTS)
def test_a_transient_fault_ends_in_the_answer(streaming: Services, model: ScriptedModel, fault: str) -> None:
    model.plays(calls(SEARCH), FAULTS[fault](ANSWER), calls(ANSWER))
    events, given = ask(streaming)
    require_answer(events, given)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_persistent_fault_ends_in_an_error(streaming: Services, model: ScriptedModel, fault: str) -> None:
    model.plays(calls(SEARCH), FAULTS[fault](ANSWER))
    require_error(*ask(streaming), (AnswerFailed, ModelUnavailable))


def require_error(events: list[Event], given: Answer | None, error: Any) -> None:
    """Require that a reader is left with nothing but the error."""
    assert given is None and isinstance(events[-1], error)
    assert text_of(events) == ""


@pytest.mark.slow
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_ends_in_an_error(streaming: Services, model: ScriptedModel, refusal: str) -> None:
    model.plays(calls(SEARCH), REFUSALS[refusal](ANSWER))
    require_error(*ask(streaming), AnswerRefused)


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=pytest.mark.slow if name == "an answer of 300 KB" else []) for name in ANSWER_FAULTS],
)
def test_an_answer_that_cannot_be_accepted_is_never_left_standing(
    streaming: Services, model: ScriptedModel, fault: str
) -> None:
    model.plays(calls(SEARCH), ANSWER_FAULTS[fault], calls(ANSWER))
    require_answer(*ask(streaming))
    model.plays(calls(SEARCH), ANSWER_FAULTS[fault])
    require_error(*ask(streaming), AnswerFailed)


@pytest.mark.slow
@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_oddity_ends_in_the_answer(streaming: Services, model: ScriptedModel, oddity: str) -> None:
    model.plays(calls(SEARCH), ODDITIES[oddity](ANSWER))
    require_answer(*ask(streaming))


@pytest.mark.parametrize("oddity", ANSWER_ODDITIES)
def test_what_is_good_in_an_answer_is_shown(streaming: Services, model: ScriptedModel, oddity: str) -> None:
    model.plays(calls(SEARCH), ANSWER_ODDITIES[oddity])
    require_answer(*ask(streaming))
