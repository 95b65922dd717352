"""Comments keep a stream open while nothing happens, and nothing of them stays behind."""

from __future__ import annotations

import json
import threading
import time

import pytest

from gleaner.answering.events import AnswerDelta, Started
from gleaner.api import _answer_stream
from gleaner.api._answer_stream import STREAM_HEADERS, AnswerStream
from gleaner.api.protocols.encoder import KEEP_ALIVE
from gleaner.api.protocols.ui_message_stream import UiMessageStream
from tests.doubles.event_stream import Reader, final_of, texts_of

STARTED = Started(query_id="Q", session_id="S")
ANSWER = json.dumps({"message_id": "Q-assistant", "session_id": "S", "answer": "Merged.", "sources": []})


def keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "keep-alive"]


def wait_for(reader: Reader, count: int) -> None:
    give_up_at = time.monotonic() + 20
    while reader.chunks.count(KEEP_ALIVE) < count:
        assert time.monotonic() < give_up_at
        time.sleep(0.005)


def test_comments_are_sent_while_nothing_happens(reader: Reader) -> None:
    with AnswerStream(reader, STREAM_HEADERS, UiMessageStream(), keep_alive_seconds=0.01) as stream:
        stream.emit(STARTED)
        wait_for(reader, 3)
        stream.end(200, ANSWER, {})
        assert reader.chunks[-1].endswith(b"data: [DONE]\n\n")
        sent = len(reader.chunks)
        time.sleep(0.05)
    assert len(reader.chunks) == sent
    assert keepers() == []
    assert (final_of(reader.parts())[0], texts_of(reader.parts())) == (200, ["Merged."])


def test_events_of_one_moment_are_one_piece_and_the_first_does_not_wait(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_answer_stream, "GATHER_SECONDS", 30.0)
    with AnswerStream(reader, STREAM_HEADERS, UiMessageStream()) as stream:
        stream.emit(STARTED)
        assert len(reader.chunks) == 1
        stream.emit(AnswerDelta(text="Mer"))
        stream.emit(AnswerDelta(text="ged."))
        assert len(reader.chunks) == 1
        stream.end(200, ANSWER, {})
    assert len(reader.chunks) == 2
    assert texts_of(reader.parts()) == ["Merged."]


def test_what_was_gathered_is_sent_though_nothing_follows(reader: Reader) -> None:
    with AnswerStream(reader, STREAM_HEADERS, UiMessageStream()) as stream:
        stream.emit(STARTED)
        stream.emit(AnswerDelta(text="Merged."))
        give_up_at = time.monotonic() + 20
        while not any(b"Merged." in chunk for chunk in reader.chunks):
            assert time.monotonic() < give_up_at
            time.sleep(0.005)


def test_nothing_is_sent_before_the_first_event(reader: Reader) -> None:
    with AnswerStream(reader, STREAM_HEADERS, UiMessageStream(), keep_alive_seconds=0.01) as stream:
        time.sleep(0.05)
        assert (reader.status, stream.is_started, keepers()) == (None, False, [])


def test_a_failure_ends_the_comments(reader: Reader) -> None:
    with (
        pytest.raises(RuntimeError, match="broken"),
        AnswerStream(reader, STREAM_HEADERS, UiMessageStream(), keep_alive_seconds=0.01) as stream,
    ):
        stream.emit(STARTED)
        wait_for(reader, 1)
        raise RuntimeError("broken")
    assert keepers() == []


def test_a_client_that_goes_between_two_events_gets_nothing_more() -> None:
    reader = Reader(leaves_at=2)
    with AnswerStream(reader, STREAM_HEADERS, UiMessageStream(), keep_alive_seconds=0.01) as stream:
        stream.emit(STARTED)
        wait_for(reader, 1)
        time.sleep(0.05)
        stream.end(200, ANSWER, {})
    assert len(reader.chunks) == 2
    assert keepers() == []


@pytest.fixture
def reader() -> Reader:
    return Reader()
