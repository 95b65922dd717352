"""Streams of the model over real connections: deadlines, breaks, and what becomes of a connection."""

from __future__ import annotations

import itertools
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from gleaner.clients import _streamed_answer
from gleaner.clients.chat_model import Api, ChatModel, connect
from gleaner.errors import DeadlineExceeded, ModelUnavailable
from gleaner.model import ModelTurn, PartialCall
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.spans import Span, record_spans
from tests.doubles.in_process_provider import ANSWER, QUESTION, SEARCH
from tests.doubles.odd_streams import CHAT, PLAIN, STREAMED, events, stream
from tests.doubles.raw_stream import RawStream, Write

WHOLE = CHAT["openai"]
BEGINNINGS = {Api.CHAT: stream(*PLAIN[:3], usage=None, done=b""), Api.RESPONSES: events(*STREAMED[:3])}


def model_at(url: str, api: Api = Api.CHAT) -> ChatModel:
    return connect(api_key=lambda: "k", base_url=url, model="m", max_output_tokens=100, api=api)


def ask(model: ChatModel, listener: Callable[[PartialCall], None], *, seconds: float = 30) -> ModelTurn:
    return model.complete(
        QUESTION, [SEARCH, ANSWER], callable_tools=("search",), deadline=Deadline.after(seconds), on_partial=listener
    )


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("drips", [b": ping\n\n", b"data: {}\n\n", b"x"])
def test_a_stream_that_drips_ends_at_the_deadline(api: Api, drips: bytes) -> None:
    def write_body(write: Write) -> None:
        write(BEGINNINGS[api])
        for _ in itertools.count():
            time.sleep(0.01)
            write(drips)

    for seconds in (0.3, 3, 30):  # a busy machine may need longer until the request comes
        server = RawStream(write_body)
        with server.serving() as url:
            with pytest.raises(DeadlineExceeded):
                ask(model_at(url, api), lambda _: None, seconds=seconds)
            if server.clients:
                assert server.reader_left.wait(60)  # the connection is given up, not read forever
                break
    assert len(server.clients) == 1


def test_nothing_is_told_after_the_deadline() -> None:
    def write_body(write: Write) -> None:
        write(BEGINNINGS[Api.CHAT])
        for _ in itertools.count():
            time.sleep(0.002)
            write(stream(PLAIN[3], usage=None, done=b""))

    for seconds in (1, 5, 30):  # a busy machine may need longer until the first part is told
        parts: list[PartialCall] = []
        server = RawStream(write_body)
        with server.serving() as url:
            with pytest.raises(DeadlineExceeded):
                ask(model_at(url), parts.append, seconds=seconds)
            told = len(parts)
            if told:
                assert server.reader_left.wait(60)
                break
    assert len(parts) == told >= 1


@pytest.mark.parametrize("api", Api)
def test_a_connection_that_is_cut_is_tried_again(api: Api) -> None:
    good = WHOLE if api is Api.CHAT else events(*STREAMED, done=b"data: [DONE]\n\n")
    bodies = iter([BEGINNINGS[api], good])

    def write_body(write: Write) -> None:
        body = next(bodies)
        write(body)
        if body is not good:
            raise EOFError

    parts: list[PartialCall] = []
    spans: list[Span] = []
    server = RawStream(write_body)
    with server.serving() as url, record_spans(spans.append):
        turn = ask(model_at(url, api), parts.append)
    assert [call.arguments for call in turn.tool_calls] == ['{"query": "x y"}', '{"query": "z"}']
    assert {part.attempt for part in parts} == {1, 2}
    assert [span.error for span in spans] == ["APIConnectionError", None]
    assert spans[1].facts["input_tokens"] == turn.usage.input_tokens


def test_a_connection_is_used_again_after_a_stream() -> None:
    server = RawStream(lambda write: [write(line) for line in WHOLE.splitlines(keepends=True)])  # type: ignore[arg-type,return-value]
    with server.serving() as url:
        model = model_at(url)
        while len(set(server.clients)) == len(server.clients) < 20:
            ask(model, lambda _: None)
            time.sleep(0.02)  # what follows the last event is read after the turn is there
    assert len(set(server.clients)) < len(server.clients)


@pytest.mark.parametrize("api", Api)
def test_a_compressed_stream_is_read(api: Api) -> None:
    whole = WHOLE if api is Api.CHAT else events(*STREAMED, done=b"data: [DONE]\n\n")
    compressor = zlib.compressobj(wbits=31)

    def write_body(write: Write) -> None:
        for line in whole.splitlines(keepends=True):
            write(compressor.compress(line) + compressor.flush(zlib.Z_SYNC_FLUSH))
        write(compressor.flush())

    with RawStream(write_body, encoding="gzip").serving() as url:
        turn = ask(model_at(url, api), lambda _: None)
    assert [call.arguments for call in turn.tool_calls] == ['{"query": "x y"}', '{"query": "z"}']


def test_events_that_came_together_are_told_once() -> None:
    parts: list[PartialCall] = []
    with RawStream(lambda write: write(WHOLE)).serving() as url:
        turn = ask(model_at(url), parts.append)
    assert [part.arguments for part in parts] == [call.arguments for call in turn.tool_calls]


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawStream(lambda write: write(WHOLE)).serving() as proxy:
        for name in ("http_proxy", "all_proxy"):
            with monkeypatch.context() as environment:
                environment.setenv(name, proxy.removesuffix("/v1"))
                turn = ask(model_at("http://model.invalid/v1"), lambda _: None)
            assert len(turn.tool_calls) == 2


def test_a_server_that_does_not_hang_up_delays_no_turn() -> None:
    is_over = threading.Event()

    def write_body(write: Write) -> None:
        write(WHOLE)
        is_over.wait(60)

    with RawStream(write_body).serving() as url:
        turn = ask(model_at(url), lambda _: None, seconds=20)
        is_over.set()
    assert len(turn.tool_calls) == 2


def test_a_listener_that_has_enough_closes_the_connection() -> None:
    def write_body(write: Write) -> None:
        write(BEGINNINGS[Api.CHAT])
        for _ in itertools.count():
            time.sleep(0.01)
            write(b": ping\n\n")

    def stop(_: PartialCall) -> None:
        raise StopAsyncIteration

    server = RawStream(write_body)
    with server.serving() as url:
        with pytest.raises(StopAsyncIteration):
            ask(model_at(url), stop)
        assert server.reader_left.wait(60)
    assert len(server.clients) == 1


@pytest.mark.parametrize("endless", [b": ping\n\n", b"x" * 1_000])
def test_an_endless_stream_is_given_up(endless: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_streamed_answer, "MAX_STREAM_BYTES", 100_000)

    def write_body(write: Write) -> None:
        for _ in itertools.count():
            write(endless * 100)

    server: Any = RawStream(write_body)
    with server.serving() as url, pytest.raises(ModelUnavailable):
        ask(model_at(url), lambda _: None)
    assert len(server.clients) == 3
