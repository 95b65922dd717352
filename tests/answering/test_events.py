"""The events of a question: each path tells what happens in order, and every call has one beginning and one end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from gleaner.answering.events import (
    AnswerDelta,
    Answered,
    Event,
    PassagesFound,
    Started,
    StepTaken,
    ToolCalled,
    ToolFinished,
)
from gleaner.answering.exchange import QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.errors import AnswerRejected, ModelUnavailable, UnknownKnowledgeBase, UnknownSession
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from tests.answering.asking import LONG, ask, deltas, in_order, text_of
from tests.doubles.model_faults import api_error
from tests.doubles.model_in_pieces import ModelInPieces
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search, web
from tests.doubles.scripted_web import ScriptedWeb, result

PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")


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


def test_a_question_to_the_knowledge_base(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    events, given = ask(streaming)
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
    streaming: Services, model: ScriptedModel, scripted_web_server: tuple[ScriptedWeb, str]
) -> None:
    scripted_web_server[0].finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    model.plays(
        calls(search()),
        calls(web("starlette 1.0 release")),
        calls(index("Starlette release"), answer(sources=("web-1",))),
    )
    assert outline(ask(streaming)[0])[5:] == [
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


def test_a_web_search_tells_what_it_cost(
    streaming: Services, model: ScriptedModel, scripted_web_server: tuple[ScriptedWeb, str]
) -> None:
    web_server = scripted_web_server[0]
    web_server.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    assert isinstance(web_server.reply, dict)
    web_server.reply["usage"]["cost"] = {"currency": "USD", "total_cost": 0.0061}
    model.plays(calls(search()), calls(web("release of starlette 1.0")), calls(answer(sources=("web-1",))))
    finished = {event.tool: event.result for event in ask(streaming)[0] if isinstance(event, ToolFinished)}
    assert finished["perplexity_search"] == {"ids": ["web-1"], "count": 1, "cost_usd": 0.0061}
    assert "cost_usd" not in finished["knowledge_base_search"]


def test_calls_have_arguments_without_secrets_and_results_without_texts(
    streaming: Services, model: ScriptedModel
) -> None:
    model.plays(calls(search("keys of ann@example.org", note="unknown")), calls(answer()))
    events, _ = ask(streaming)
    called = [event for event in events if isinstance(event, ToolCalled)]
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.arguments for event in called] == [{"query": "keys of [redacted: e-mail address]"}, {}]
    assert [event.result for event in finished] == [
        {"ids": ["kb-1", "kb-2"], "count": 2},
        {"ids": ["kb-1"], "count": 1},
    ]
    assert [event.call_id for event in called] == [event.call_id for event in finished] == ["call-0", "call-1"]


def test_a_passage_is_told_once(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search(), search("pruned keywords")), calls(search("merged duplicates")), calls(answer()))
    events, _ = ask(streaming)
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
def test_every_call_of_a_tool_begins_and_ends_once(streaming: Services, model: ScriptedModel, turn: Any) -> None:
    model.plays(calls(search()), turn, calls(answer()))
    events, given = ask(streaming)
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
    streaming: Services, model: ScriptedModel, replies: list[Any], error: type[Exception], last: str
) -> None:
    model.plays(*replies)
    events, given = ask(streaming)
    assert given is None and isinstance(events[-1], error)
    assert outline(events[:-1])[-1] == last
    assert not text_of(events)


@pytest.mark.parametrize(
    ("more", "error"),
    [({"kb_id": "no_such"}, UnknownKnowledgeBase), ({"session_id": new_id()}, UnknownSession)],
)
def test_a_question_that_is_refused_tells_nothing(streaming: Services, more: Any, error: type[Exception]) -> None:
    [refused], _ = ask(streaming, **more)
    assert isinstance(refused, error)


def test_a_question_after_feedback_tells_the_retry(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), says("Merged."), calls(answer()))
    assert outline(ask(streaming)[0])[5:] == [
        "decide",
        "answer",
        "call generate_response",
        "done generate_response",
        "Answered",
    ]


def test_an_answer_is_shown_in_sentences_as_it_comes(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(in_order(LONG)))
    events, given = ask(streaming)
    assert given is not None and text_of(events) == given.text == LONG
    first, *others = deltas(events)
    assert first == "Duplicate keywords are merged by a conditional write. "
    assert others and "withdrawn" not in others
    kinds = [type(event) for event in events]
    assert kinds.index(AnswerDelta) < len(kinds) - 1 - kinds[::-1].index(ToolCalled)  # before the call was whole


@pytest.mark.parametrize(
    "reply",
    [
        calls(answer(LONG)),  # the answer first
        calls(("generate_response", {"sources": [], "answer": LONG.replace(" [kb-1]", "")})),  # the mark comes last
        calls(("generate_response", json.dumps({"sources": '["kb-1"]', "answer": "Merged."}))),
        calls(("generate_response", json.dumps(in_order("a\nb " * 40)[1]).replace("\\n", "\n"))),  # a raw line end
    ],
)
def test_what_cannot_be_judged_early_is_shown_at_the_end(streaming: Services, model: ScriptedModel, reply: Any) -> None:
    model.plays(calls(search()), reply)
    events, given = ask(streaming)
    assert given is not None and deltas(events) == [given.text]


def test_an_answer_that_cites_unknown_passages_alone_is_stopped(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(in_order(LONG.replace("kb-", "kb-9"), ("kb-91",))), calls(in_order(LONG)))
    events, given = ask(streaming)
    assert given is not None and text_of(events) == given.text == LONG
    [stopped] = cast("ModelInPieces", streaming.model).stopped
    assert len(stopped) < len(LONG)
    assert "withdrawn" not in deltas(events)
    [*_, feedback] = model.requests[2]["messages"]
    assert feedback["role"] == "user" and "Unknown source ids: kb-91. Cite only ids" in feedback["content"]
    assert given.facts.cost.usage.output_tokens == 20 + len(stopped.encode()) // 4 + 1


def test_an_answer_that_stays_without_known_passages_is_rejected(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(in_order(LONG.replace("kb-", "kb-9"), ("kb-91",))))
    events, given = ask(streaming)
    assert given is None and isinstance(events[-1], AnswerRejected)
    assert deltas(events) == []


CUT = ("generate_response", json.dumps(in_order(LONG)[1])[:-80])


@pytest.mark.parametrize(
    "turn", [calls(CUT, finish_reason="length"), calls(CUT), calls(in_order(LONG), search("pruned keywords"))]
)
def test_an_answer_that_is_not_accepted_is_withdrawn(streaming: Services, model: ScriptedModel, turn: Any) -> None:
    model.plays(calls(search()), turn, calls(in_order(LONG.upper().replace("KB-", "kb-"))))
    events, given = ask(streaming)
    assert given is not None and text_of(events) == given.text
    assert deltas(events).count("withdrawn") == 1
    model.plays(calls(search()), calls(CUT))
    events, given = ask(streaming)
    assert given is None and not text_of(events)


def test_a_request_that_is_sent_again_begins_anew(streaming: Services, model: ScriptedModel) -> None:
    pieces = replace(cast("Any", streaming.model), attempts=2)
    model.plays(calls(search()), calls(in_order(LONG)))
    events, given = ask(replace(streaming, model=pieces))
    assert given is not None and text_of(events) == LONG
    assert deltas(events).count("withdrawn") == 1


def test_an_answer_beside_a_search_is_held_back(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(search("pruned"), in_order(LONG)), calls(in_order(LONG)))
    events, given = ask(streaming)
    assert given is not None and text_of(events) == LONG
    assert "withdrawn" not in deltas(events)


def test_an_answer_that_is_asked_for_its_sources_is_held_back(streaming: Services, model: ScriptedModel) -> None:
    bare = LONG.replace(" [kb-1]", "").replace(" [kb-2]", "")
    model.plays(calls(search()), calls(in_order(bare, ())), calls(in_order(LONG)))
    events, given = ask(streaming)
    assert given is not None and text_of(events) == LONG
    assert "withdrawn" not in deltas(events)
    model.plays(calls(search()), calls(in_order(bare, ())))
    events, given = ask(streaming)
    assert given is not None and deltas(events) == [bare]


def test_small_talk_is_shown_without_sources(streaming: Services, model: ScriptedModel) -> None:
    greeting = (
        "Hello. I answer questions about the handbook, and I say where in it each of my answers stands. Ask away."
    )
    model.plays(calls(search()), calls(in_order(greeting, ())))
    events, given = ask(streaming, "Hello!")
    assert given is not None and deltas(events)[0] == "Hello. " and text_of(events) == greeting


def test_only_whoever_reads_events_asks_for_a_stream(streaming: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(in_order(LONG)))
    pieces = cast("ModelInPieces", streaming.model)
    answer_question(QuestionRequest(query="How?", caller_id="key:a"), new_id(), streaming, Deadline.after(20))
    assert pieces.stream_count == 0
    model.plays(calls(search()), calls(in_order(LONG)))
    ask(streaming)
    assert pieces.stream_count == 1  # no answer may come of the search
