"""The encoder of UI message streams: whatever happens, a reader ends with the answer or with the problem."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gleaner.answering.events import (
    AnswerDelta,
    AnswerWithdrawn,
    Event,
    PassagesFound,
    Started,
    StepTaken,
    ToolCalled,
    ToolFinished,
)
from gleaner.answering.steps import Step
from gleaner.api.protocols.encoder import KEEP_ALIVE
from gleaner.api.protocols.ui_message_stream import UiMessageStream
from gleaner.document_files import media_type_of
from gleaner.model import Passage, SourceType
from gleaner_documents.reading import known_extensions
from tests.doubles.event_stream import Part, final_of, read_parts, texts_of

STARTED = Started(query_id="Q", session_id="S")
PROBLEM = {"type": "urn:gleaner:problem:x", "status": 503, "detail": "It failed.", "query_id": "Q"}
TEXT = st.text(st.characters(codec="utf-8"))
# What json.loads makes of arguments that a model wrote.
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists)


def answer_json(text: str, sources: list[dict[str, Any]]) -> str:
    return json.dumps(
        {"query_id": "Q", "session_id": "S", "message_id": "Q-assistant", "answer": text, "sources": sources}
    )


def call_of(number: int, arguments: dict[str, Any], error: str | None) -> list[Event]:
    call_id = f"call-{number}"
    return [
        ToolCalled(call_id=call_id, tool="knowledge_base_search", arguments=arguments),
        ToolFinished(call_id=call_id, tool="knowledge_base_search", result={"count": 1}, error=error, duration_ms=1.23),
    ]


@st.composite
def stories(draw: st.DrawFn) -> list[Event]:
    """What may happen between the start and the end of a question."""
    events: list[Event] = []
    for number in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["step", "call", "passages", "delta", "withdrawal"]))
        if kind == "step":
            events.append(StepTaken(step=draw(st.sampled_from(Step))))
        elif kind == "call":
            arguments = draw(st.dictionaries(st.text(), VALUES, max_size=3))
            events += call_of(number, arguments, draw(st.none() | st.text()))
        elif kind == "passages":
            events.append(PassagesFound(passages=[passage(f"kb-{number}", draw(TEXT))]))
        elif kind == "delta":
            events.append(AnswerDelta(text=draw(TEXT)))
        else:
            events.append(AnswerWithdrawn())
    return events


def passage(passage_id: str, title: str) -> Passage:
    return Passage(
        key=passage_id,
        id=passage_id,
        content="What it says stays here.",
        score=0.5,
        source_type=SourceType.KNOWLEDGE_BASE,
        title=title,
    )


def follow(events: list[Event], end: str, *, is_answer: bool) -> list[Part]:
    encoder = UiMessageStream()
    body = b"".join(map(encoder.encode, [STARTED, *events])) + KEEP_ALIVE
    body += encoder.finish(end) if is_answer else encoder.fail(end)
    assert b"What it says" not in body
    return read_parts(body.decode("ascii"))


@given(stories(), TEXT)
def test_the_only_text_that_counts_at_the_end_is_the_answer(events: list[Event], text: str) -> None:
    parts = follow(events, answer_json(text, []), is_answer=True)
    assert texts_of(parts)[-1:] == [text]
    assert len(texts_of(parts)) == 1
    assert final_of(parts) == (200, json.loads(answer_json(text, [])))


@given(stories())
def test_no_text_counts_when_the_question_failed(events: list[Event]) -> None:
    parts = follow(events, json.dumps(PROBLEM), is_answer=False)
    assert texts_of(parts) == []
    assert final_of(parts) == (503, PROBLEM)


@given(stories(), TEXT)
def test_steps_and_calls_are_well_formed(events: list[Event], text: str) -> None:
    parts = follow(events, answer_json(text, []), is_answer=True)
    depth, open_text, calls = 0, False, dict[str, str]()
    for part in parts:
        kind = part["type"]
        depth += (kind == "start-step") - (kind == "finish-step")
        assert depth in (0, 1)
        # Versions 5 and 6 of the AI SDK drop the open text at the end of a step.
        open_text = kind == "text-start" or (open_text and kind != "text-end")
        assert not (open_text and kind in ("start-step", "finish-step"))
        if kind.startswith("tool-input"):
            assert part["toolCallId"] not in calls
            calls[part["toolCallId"]] = "open"
        elif kind.startswith("tool-output"):
            assert calls[part["toolCallId"]] == "open"
            calls[part["toolCallId"]] = "done"
    assert depth == 0
    assert "open" not in calls.values()


def test_a_text_that_the_answer_contradicts_is_withdrawn() -> None:
    deltas: list[Event] = [AnswerDelta(text="Merged "), AnswerDelta(text="later.")]
    parts = follow(deltas, answer_json("Merged at once.", []), is_answer=True)
    assert [part["type"] for part in parts if part["type"].startswith("text")] == [
        *("text-start", "text-delta", "text-delta", "text-end"),
        *("text-start", "text-delta", "text-end"),
    ]
    assert texts_of(parts) == ["Merged at once."]


def test_the_answer_is_sent_as_it_is_written() -> None:
    body = '{"message_id":"Q-assistant","session_id":"S","answer":"\\u00e4 \u2028","sources":[],"cost":1.10e0}'
    sent = UiMessageStream().finish(body).decode()
    assert f'data: {{"type":"data-gleaner-answer","data":{body}}}\n\n' in sent


def test_a_source_with_an_address_is_a_page() -> None:
    sources = [
        {"id": "kb-1", "title": "Cells", "source_file_path": "biology/03-cells.PDF", "source_url": None},
        {"id": "kb-2", "title": "Handbook", "source_file_path": "a.md", "source_url": "https://handbook.example/a"},
        {"id": "web-1", "title": "News", "source_file_path": None, "source_url": "https://news.example"},
        {"id": "kb-3", "title": "Selected text", "source_file_path": None},
    ]
    parts = [part for part in follow([], answer_json("x", sources), is_answer=True) if "sourceId" in part]
    told = [{name: part[name] for name in part.keys() - {"providerMetadata"}} for part in parts]
    assert told == [
        {
            **{"type": "source-document", "sourceId": "kb-1", "title": "Cells"},
            **{"filename": "03-cells.PDF", "mediaType": "application/pdf"},
        },
        {"type": "source-url", "sourceId": "kb-2", "title": "Handbook", "url": "https://handbook.example/a"},
        {"type": "source-url", "sourceId": "web-1", "title": "News", "url": "https://news.example"},
        {"type": "source-document", "sourceId": "kb-3", "title": "Selected text", "mediaType": "text/plain"},
    ]


def test_every_format_that_is_read_has_a_media_type() -> None:
    types = {extension: media_type_of(f"a{extension.upper()}") for extension in known_extensions()}
    assert {extension for extension, media_type in types.items() if media_type == "text/plain"} <= {".txt", ".text"}
