"""Spans end in the trace that they belong to, whatever thread made the call and however it ended."""

from __future__ import annotations

import threading
import time

import pytest
from aws_xray_sdk.core.models.dummy_entities import DummySegment, DummySubsegment
from aws_xray_sdk.core.models.segment import Segment
from aws_xray_sdk.core.models.subsegment import Subsegment

from gleaner.clients.time_limit import run_within
from gleaner.runtime.spans import Span, note, record_spans, span
from gleaner.runtime.tracing import span_recorder


def test_a_span_says_what_was_called_and_how_long_it_took() -> None:
    spans: list[Span] = []
    before = time.time()
    with record_spans(spans.append), span("index", operation="search"):
        note(hits=3, cost_usd=None)
    (recorded,) = spans
    assert (recorded.name, recorded.error) == ("index", None)
    assert recorded.facts == {"operation": "search", "hits": 3}
    assert before <= recorded.started_at <= recorded.ended_at <= time.time()


def test_a_failed_call_is_recorded_with_the_class_of_its_error_only() -> None:
    spans: list[Span] = []
    with record_spans(spans.append), pytest.raises(ValueError, match="private"), span("index"):
        raise ValueError("private")
    assert spans[0].error == "ValueError"
    assert "private" not in str(spans)


def test_nothing_is_recorded_without_a_recorder() -> None:
    spans: list[Span] = []
    with record_spans(spans.append), record_spans(None), span("index"):
        note(hits=1)
    with span("index"):
        note(hits=1)
    assert spans == []


def test_facts_of_a_time_limited_call_belong_to_the_span_of_its_caller() -> None:
    spans: list[Span] = []
    with record_spans(spans.append), span("web"):
        run_within(20, lambda: note(http_status=200))
    assert spans[0].facts == {"http_status": 200}


def test_a_call_that_is_abandoned_cannot_change_its_span() -> None:
    spans: list[Span] = []
    is_abandoned, has_responded = threading.Event(), threading.Event()

    def respond_late() -> None:
        is_abandoned.wait(60)
        note(http_status=200)
        has_responded.set()

    with record_spans(spans.append), pytest.raises(TimeoutError), span("web"):
        run_within(0.01, respond_late)
    is_abandoned.set()
    assert has_responded.wait(60)
    assert (spans[0].error, spans[0].facts) == ("TimeoutError", {})


def test_a_call_that_outlives_its_question_is_dropped() -> None:
    parent = Subsegment("answer", "local", Segment("function"))
    record = span_recorder(parent)
    assert record is not None
    parent.close()
    with record_spans(record), span("index"):
        pass
    assert parent.subsegments == []


def test_a_trace_that_is_not_sampled_records_nothing() -> None:
    assert span_recorder(DummySubsegment(DummySegment())) is None
    assert span_recorder(None) is None
