"""Asks questions and keeps their events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gleaner.answering.events import AnswerDelta, AnswerWithdrawn, Event
from gleaner.answering.exchange import Answer, QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.errors import GleanerError
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline

LONG = (
    "Duplicate keywords are merged by a conditional write. [kb-1] The second keyword raises the usage count. "
    "Nothing else is written, and the merged keyword keeps its identity, its place and the answers that it leads to. "
    "Keywords that nobody used for ninety days are pruned. [kb-2]"
)


def in_order(text: str, sources: tuple[str, ...] = ("kb-1",), **more: Any) -> tuple[str, Any]:
    """A call of generate_response as models write it that follow the schema: the sources first."""
    return "generate_response", {"sources": list(sources), "answer": text, **more}


def ask(
    services: Services, query: str = "How are duplicates merged?", **more: Any
) -> tuple[list[Event], Answer | None]:
    """The events of a question, and its answer if it has one: an error is the last of them."""
    events: list[Event] = []
    request = QuestionRequest(query=query, caller_id="key:reader", **more)
    try:
        return events, answer_question(request, new_id(), services, Deadline.after(20), emit=events.append)
    except GleanerError as error:
        events.append(error)  # type: ignore[arg-type]
        return events, None


def text_of(events: Sequence[Event]) -> str:
    """The answer as a reader has it in the end."""
    text = ""
    for event in events:
        if isinstance(event, AnswerWithdrawn):
            text = ""
        elif isinstance(event, AnswerDelta):
            text += event.text
    return text


def deltas(events: Sequence[Event]) -> list[str]:
    """The pieces of the answer, and a mark where they were withdrawn."""
    return [
        event.text if isinstance(event, AnswerDelta) else "withdrawn"
        for event in events
        if isinstance(event, AnswerDelta | AnswerWithdrawn)
    ]
