"""What happens while a question is answered, as events for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gleaner.model import JsonObject, Passage

if TYPE_CHECKING:  # otherwise whoever shows events would load the whole agent before the first question
    from gleaner.answering.exchange import Answer
    from gleaner.answering.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The question is valid, and its session is the caller's; None: it is not kept."""

    query_id: str
    session_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken:
    """The agent has moved to another step."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """The model has called a tool that exists; it runs unless the call is refused. Exactly one ToolFinished follows.

    `arguments` are redacted as in the history of tool calls, and empty for an answer, which is shown once checked.
    """

    call_id: str  # unique within the question: the position of the call in the history
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A call has its outcome. `result` holds ids, counts and a price, never a text; `error` says why there is none."""

    call_id: str
    tool: str
    result: JsonObject
    error: str | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesFound:
    """Passages that a search returned for the first time in this question. They may be cited."""

    passages: Sequence[Passage]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDelta:
    """The next piece of the checked answer. All pieces since the last withdrawal make a prefix of the final text."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerWithdrawn:
    """The pieces so far are void: the model was asked for another answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer, which is stored in its session. The last event of a question that was answered."""

    answer: Answer


# What is not here: a question that fails raises its error, and whoever calls turns that into the last event.
Event: TypeAlias = (
    Started | StepTaken | ToolCalled | ToolFinished | PassagesFound | AnswerDelta | AnswerWithdrawn | Answered
)
# Takes the events in order, one at a time, from whichever thread waits for what they tell. It must not raise: a client
# that has gone is no reason to drop a question that is paid for, so whoever writes to it drops the rest.
Sink = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """The sink of whoever waits for the answer alone."""
