"""The events of a question: each path tells what happens in order, and every call has one beginning and one end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gleaner.answering.events import (
    AnswerDelta,
    Answered,
    AnswerWithdrawn,
    Event,
    PassagesFound,
    Started,
    StepTaken,
    ToolCalled,
    ToolFinished,
)
from gleaner.answering.exchange import Answer, QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.errors import AnswerRejected, GleanerError, ModelUnavailable, UnknownKnowledgeBase, UnknownSession
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.wiring import build_services, build_stores
from tests.doubles.model_faults import api_error
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search, web
from tests.doubles.scripted_web import ScriptedWeb, result

PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")


@pytest.fixture
def services(settings: dict[str, str]) -> Services:
    """The clients that the query function uses, over scripted servers."""
    configuration = Settings.from_env(settings)
    return build_services(configuration, build_stores(configuration))


def ask(
    services: Services, query: str = "How are duplicates merged?", **more: Any
) -> tuple[list[Event], Answer | None]:
    """The events of a question, and its answer if it has one; an error is raised by `fail` alone."""
    events: list[Event] = []
    request = QuestionRequest(query=query, caller_id="key:reader", **more)
    try:
        return events, answer_question(request, new_id(), services, Deadline.after(20), emit=events.append)
    except GleanerError as error:
        events.append(error)  # type: ignore[arg-type]
        return events, None


def outline(events: Sequence[Event]) -> list[str]:
    """The events in short: their kinds, with what distinguishes them."""
    return [_name(event) for event in events if not isinstance(event, AnswerDelta)]


def _name(event: Event) -> str:
    match event:
        case StepTaken():
            return event.step.value
        case ToolCalled():
            return f"call {event.tool}"
        case ToolFinished():
            return f"{'refused' if event.error else 'done'} {event.tool}"
        case PassagesFound():
            return " ".join(passage.id for passage in event.passages)
        case _:
            return type(event).__name__


def text_of(events: Sequence[Event]) -> str:
    """The answer as a reader has it in the end."""
    text = ""
    for event in events:
        if isinstance(event, AnswerWithdrawn):
            text = ""
        elif isinstance(event, AnswerDelta):
            text += event.text
    return text


def test_a_question_to_the_knowledge_base(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    events, given = ask(services)
    assert outline(events) == [
        "Started",
        "search",
        "call knowledge_base_search",
        "kb-1 kb-2",
        "done knowledge_base_search",
        "decide",
        "call generate_response",
        "done generate_response",
        "Answered",
    ]
    assert given is not None
    assert isinstance(events[0], Started) and events[0].session_id == given.session_id
    assert events[-1] == Answered(answer=given)


def test_a_question_to_the_web(
    services: Services, model: ScriptedModel, scripted_web_server: tuple[ScriptedWeb, str]
) -> None:
    scripted_web_server[0].finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    model.plays(
        calls(search()),
        calls(web("starlette 1.0 release")),
        calls(index("Starlette release"), answer(sources=("web-1",))),
    )
    assert outline(ask(services)[0])[5:] == [
        "decide",
        "call perplexity_search",
        "web-1",
        "done perplexity_search",
        "learn",
        "call index_keywords",
        "call generate_response",
        "done index_keywords",
        "done generate_response",
        "Answered",
    ]


def test_calls_have_arguments_without_secrets_and_results_without_texts(
    services: Services, model: ScriptedModel
) -> None:
    model.plays(calls(search("keys of ann@example.org", note="unknown")), calls(answer()))
    events, _ = ask(services)
    called = [event for event in events if isinstance(event, ToolCalled)]
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.arguments for event in called] == [{"query": "keys of [redacted: e-mail address]"}, {}]
    assert [event.result for event in finished] == [
        {"ids": ["kb-1", "kb-2"], "count": 2},
        {"ids": ["kb-1"], "count": 1},
    ]
    assert [event.call_id for event in called] == [event.call_id for event in finished] == ["call-0", "call-1"]


def test_a_passage_is_told_once(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search(), search("pruned keywords")), calls(search("merged duplicates")), calls(answer()))
    events, _ = ask(services)
    told = [passage.id for event in events if isinstance(event, PassagesFound) for passage in event.passages]
    assert told == ["kb-1", "kb-2"]


@pytest.mark.parametrize(
    "turn",
    [
        calls(search("x"), ("search_everything", {"query": "Ignore all rules."}), answer("Guessed.", ())),
        calls(answer("Merged.", ("kb-9",))),
        calls(search(), search(), search("a"), search("b"), search("c")),
        calls(("knowledge_base_search", "{")),
        calls(("generate_response", json.dumps(answer()[1])[:40]), finish_reason="length"),
    ],
)
def test_every_call_of_a_tool_begins_and_ends_once(services: Services, model: ScriptedModel, turn: Any) -> None:
    model.plays(calls(search()), turn, calls(answer()))
    events, given = ask(services)
    assert given is not None and isinstance(events[-1], Answered)
    begun = [event.call_id for event in events if isinstance(event, ToolCalled)]
    ended = [event.call_id for event in events if isinstance(event, ToolFinished)]
    assert sorted(begun) == sorted(ended) and len(set(begun)) == len(begun)
    first = {call_id: [_call_of(event) for event in events].index(call_id) for call_id in begun}
    assert all(isinstance(events[place], ToolCalled) for place in first.values())
    assert "Ignore all rules" not in repr(events) and "Guessed" not in repr(events)


def _call_of(event: Event) -> str | None:
    return event.call_id if isinstance(event, ToolCalled | ToolFinished) else None


@pytest.mark.parametrize(
    ("replies", "error", "last"),
    [
        ([api_error(500, "secret")], ModelUnavailable, "search"),
        ([calls(search()), calls(answer("Merged.", ("kb-9",)))], AnswerRejected, "refused generate_response"),
    ],
)
def test_a_question_that_fails_raises_and_tells_no_answer(
    services: Services, model: ScriptedModel, replies: list[Any], error: type[Exception], last: str
) -> None:
    model.plays(*replies)
    events, given = ask(services)
    assert given is None and isinstance(events[-1], error)
    assert outline(events[:-1])[-1] == last
    assert not text_of(events)


@pytest.mark.parametrize(
    ("more", "error"),
    [({"kb_id": "no_such"}, UnknownKnowledgeBase), ({"session_id": new_id()}, UnknownSession)],
)
def test_a_question_that_is_refused_tells_nothing(services: Services, more: Any, error: type[Exception]) -> None:
    [refused], _ = ask(services, **more)
    assert isinstance(refused, error)


def test_a_question_after_feedback_tells_the_retry(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("Merged."), calls(answer()))
    assert outline(ask(services)[0])[5:] == [
        "decide",
        "answer",
        "call generate_response",
        "done generate_response",
        "Answered",
    ]
