"""The doctor tells an API that streams from one whose answers are held back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gleaner_local.clients.credentials import Credentials
from gleaner_local.diagnosis._stream import check_stream
from gleaner_local.diagnosis.finding import State
from gleaner_local.servers.asgi import AsgiServer

KEY = Credentials(api_key="k")
START = {"type": "start", "messageMetadata": {"session_id": "01J"}}


class Clock:
    """A clock that is a tenth of a second later each time that it is read."""

    def __init__(self) -> None:
        self.readings = 0

    def monotonic(self) -> float:
        self.readings += 1
        return self.readings / 10


@contextmanager
def api(*, clock: Clock | None = None, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """The address of an API, and the requests that it gets.

    With the clock of its client it sends each piece of an answer when the time of the one before was noted.
    """
    requests: list[str] = []

    async def pieces() -> AsyncIterator[bytes]:
        for part in (START, {"type": "text-delta", "delta": "a\u2028b"}, {"type": "finish"}):
            before = clock.readings if clock else 0
            yield f"data: {json.dumps(part, ensure_ascii=False)}\n\n".encode()
            with anyio.move_on_after(60):
                while clock and clock.readings == before:
                    await anyio.sleep(0.001)
        yield b"data: [DONE]\n\n"

    async def endpoint(request: Request) -> Response:
        requests.append(f"{request.method} {request.url.path} {request.headers['x-api-key']}")
        if status != 200 or request.method == "DELETE":
            return Response(status_code=status)
        if "query" not in await request.json():
            return JSONResponse({}, status_code=400)
        return StreamingResponse(pieces())

    server = AsgiServer(Starlette(routes=[Route("/{path:path}", endpoint, methods=["POST", "DELETE"])]))
    server.start()
    try:
        yield server.url, requests
    finally:
        server.stop()


def test_pieces_that_spread_over_time_are_fine_and_their_session_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("gleaner_local.diagnosis._stream.time", clock)
    with api(clock=clock) as (url, requests):
        refused, answered = check_stream(url, KEY, ask=True)
    assert (refused.state, answered.state) == (State.OK, State.OK)
    assert "4 pieces" in answered.seen
    assert requests == [*["POST /api/chat/stream k"] * 2, "DELETE /api/sessions/01J k"]


def test_an_answer_that_arrives_as_a_whole_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gleaner_local.diagnosis._stream._MIN_SPREAD", 1.0)  # no pause is short on a busy machine
    with api() as (url, _):
        _, answered = check_stream(url, KEY, ask=True)
    assert answered.state is State.PROBLEM
    assert "as a whole" in answered.seen


@pytest.mark.parametrize("status", [403, 500, 502])
def test_an_api_that_does_not_stream_is_a_problem(status: int) -> None:
    with api(status=status) as (url, requests):
        (finding,) = check_stream(url, KEY, ask=True)
    assert finding.state is State.PROBLEM
    assert str(status) in finding.seen and "log" in finding.remedy
    assert len(requests) == 1


def test_nothing_is_asked_unless_it_may_cost_money() -> None:
    with api() as (url, requests):
        (finding,) = check_stream(url, KEY, ask=False)
    assert finding.state is State.OK
    assert len(requests) == 1


def test_an_api_that_does_not_answer_is_a_problem() -> None:
    (finding,) = check_stream("http://127.0.0.1:9", KEY, ask=True)
    assert finding.state is State.PROBLEM
