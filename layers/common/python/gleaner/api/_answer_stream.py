"""Sends an answer to the client while it is made."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Self

from gleaner.answering.events import Event, Sink
from gleaner.api.protocols.encoder import KEEP_ALIVE, Encoder
from gleaner.api.routes import STREAM_TYPE
from gleaner.model import JsonObject
from gleaner.runtime.response_stream import ClientGone, ResponseStream

logger = logging.getLogger(__name__)

Headers = Mapping[str, Sequence[str]]

# `no-transform` and the header of nginx: whoever compresses or buffers an event stream holds it back.
STREAM_HEADERS: Headers = {
    "Content-Type": [STREAM_TYPE],
    "Cache-Control": ["no-store, no-transform"],
    "X-Accel-Buffering": ["no"],
}
# Without a byte for a minute or so, proxies and load balancers take a connection for dead.
KEEP_ALIVE_SECONDS = 10.0
# Every piece costs each process on its way about as much, however short it is. So what comes this soon after a piece
# goes out with what follows in this time. The first after a pause never waits, and nobody sees so short a delay.
GATHER_SECONDS = 0.04


class AnswerStream:
    """Writes events as they happen, from any thread, and comments while nothing happens.

    Events that come at almost the same time are written as one piece. Nothing is sent before the first event, so that
    an earlier error is a plain response. A client that goes stops nothing: its question is answered and stored all the
    same. Leaving the context ends the comments.
    """

    def __init__(
        self,
        response: ResponseStream,
        headers: Headers,
        encoder: Encoder | None = None,
        *,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        """Without an `encoder` nothing is sent until `use` names one: a request may say itself whether it wants one."""
        self._response = response
        self._headers = headers
        self._encoder = encoder
        self._keep_alive_seconds = keep_alive_seconds
        self._gathered = b""  # waits for the end of the pause after the last piece
        self._sent_at = -math.inf  # monotonic time
        self.is_started = False  # the status is decided: from now on an error is an event
        self._is_gone = False
        self._has_ended = False
        self._changed = threading.Condition()
        self._keeper = threading.Thread(target=self._keep_alive, name="keep-alive", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._finish(b"")
        if self._keeper.is_alive():
            self._keeper.join()

    @property
    def is_wanted(self) -> bool:
        """Whether the request asked for a stream."""
        return self._encoder is not None

    def use(self, encoder: Encoder) -> Sink:
        """Send what follows in this form; returns where the events go."""
        self._encoder = encoder
        return self.emit

    def emit(self, event: Event) -> None:
        """Send an event, at once or with those that follow at almost the same time."""
        with self._changed:
            if self._encoder is None or not (chunk := self._encoder.encode(event)) or self._is_gone:
                return
            if time.monotonic() >= self._sent_at + GATHER_SECONDS:
                self._send(chunk)
                return
            if not self._gathered:
                self._changed.notify()
            self._gathered += chunk

    def end(self, status: int, body: str, headers: Headers) -> None:
        """Send the last events: an answer, or the problem that ended one.

        `body` is the response to the same request without streaming, and `headers` are more headers for a response that
        begins only now.
        """
        with self._changed:
            if self._encoder is None:
                return
            self._headers = {**self._headers, **headers}
            self._finish(self._encoder.finish(body) if status == HTTPStatus.OK else self._encoder.fail(body))

    def _finish(self, chunk: bytes) -> None:
        """Write the last chunk, with the lock held."""
        self._send(chunk)
        self._has_ended = True
        self._changed.notify()

    def _send(self, chunk: bytes) -> None:
        """Write what was gathered and a chunk, with the lock held."""
        chunk, self._gathered = self._gathered + chunk, b""
        if self._is_gone or not chunk:
            return
        try:
            self.is_started = True
            if self._keeper.ident is None:
                own = {name: [value] for name, value in self._encoder.headers.items()} if self._encoder else {}
                self._response.start(HTTPStatus.OK.value, {**self._headers, **own})
                self._keeper.start()
            self._response.write(chunk)
        except ClientGone:
            self._is_gone = True
            logger.info("the client is gone; its question is answered all the same")
        self._sent_at = time.monotonic()

    def _keep_alive(self) -> None:
        """Write what was gathered when its time has come, and comments while there is nothing."""
        with self._changed:
            while not (self._has_ended or self._is_gone):
                pause = GATHER_SECONDS if self._gathered else self._keep_alive_seconds
                if (wait := self._sent_at + pause - time.monotonic()) > 0:
                    self._changed.wait(wait)
                else:
                    self._send(b"" if self._gathered else KEEP_ALIVE)


class WholeResponse:
    """A stream for where responses are sent whole: it collects what is written."""

    def __init__(self) -> None:
        self._status = HTTPStatus.OK.value
        self._headers: Headers = {}
        self._body = bytearray()

    def start(self, status: int, headers: Headers) -> None:
        """Remember the status and the headers."""
        self._status, self._headers = status, headers

    def write(self, chunk: bytes) -> None:
        """Collect a piece of the body."""
        self._body += chunk

    def to_proxy_result(self) -> JsonObject:
        """The response, as a REST proxy integration returns it."""
        headers = {name: list(values) for name, values in self._headers.items()}
        body = self._body.decode()
        return {"statusCode": self._status, "multiValueHeaders": headers, "body": body, "isBase64Encoded": False}
