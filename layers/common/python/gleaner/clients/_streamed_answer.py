"""Reads the answer to a request that asks for a stream, within a time limit, and tells what arrives."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import httpcore2
import httpx2

from gleaner.clients._body_streams import BodyStream
from gleaner.clients._growing_call import GrowingCall
from gleaner.clients._model_request import UnreadableAnswer, read_object
from gleaner.clients._openai_sdk import openai
from gleaner.clients._partial_calls import PartialCalls
from gleaner.clients._server_sent_events import ServerSentEvent, read_events
from gleaner.clients.time_limit import run_within
from gleaner.model import JsonObject

# Four times what 16,000 tokens need, each in an event of 500 bytes, as Azure's are.
MAX_STREAM_BYTES = 32_000_000
_MAX_REST_BYTES = 64_000  # after the last event
_GATHER_SECONDS = 0.01
_MAX_SHARE = 1 / 3  # of the time that a stream has taken so far, by which a pause may delay it


class AnswerStream(Protocol):
    """An answer that is put together of events; one implementation for each API."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to be read."""

    @property
    def has_ended(self) -> bool:
        """Whether the service said that this is the end. A connection may break after it."""

    @property
    def is_usable(self) -> bool:
        """Whether a stream may end here."""

    def add(self, event: ServerSentEvent) -> Iterator[tuple[int, GrowingCall]]:
        """Take in an event; yields the calls that grew, with their positions."""

    def answer(self) -> JsonObject:
        """The answer as it would have come whole."""


def post_streamed(
    client: openai.OpenAI, path: str, body: JsonObject, *, seconds: float, stream: AnswerStream, partials: PartialCalls
) -> JsonObject:
    """The answer to a request for a stream, with its parts told to `partials` on the way; a whole answer is fine, too.

    Raises StoppedByCaller at once if `partials` does, TimeoutError, UnreadableAnswer (also for a stream that ends too
    early), or errors of the SDK, also for a connection that breaks on the way.
    """
    # The raw response: the SDK makes an object of types of every event, for thirty times the CPU time of its JSON.
    post = partial(client.post, path, cast_to=httpx2.Response, body=body, options={"timeout": seconds}, stream=True)
    reading = _Reading(post, stream, partials)
    partials.begin()
    try:
        return run_within(seconds, reading.run, then=reading.close)
    finally:
        partials.end()


class _Reading:
    """A stream that is being read, in a thread of its own."""

    def __init__(self, post: Callable[[], httpx2.Response], stream: AnswerStream, partials: PartialCalls) -> None:
        self._post = post
        self._stream = stream
        self._partials = partials
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._began_at = math.inf  # monotonic time at which the first byte of the body came
        self._is_closing = False
        self._grown: dict[int, GrowingCall] = {}  # since the listener was told, by position
        self._beginning: list[bytes] | None = []  # of the body, until there is an event in it

    def run(self) -> JsonObject:
        """Read until the answer is complete."""
        with contextlib.ExitStack() as on_failure:
            try:
                self._response = self._post()
                on_failure.callback(self._response.close)
                self._chunks = self._read_body(self._response)
                answer = self._read()
            except httpx2.RequestError as error:
                raise _sdk_error(error) from error
            on_failure.pop_all()
        return answer

    def close(self) -> None:
        """Read what follows the last event, so that the connection can be used again. Nobody waits for this."""
        if self._response is None or self._response.is_closed:
            return
        self._is_closing = True
        size = 0
        with contextlib.suppress(httpx2.RequestError):
            for chunk in self._chunks:
                size += len(chunk)
                if size > _MAX_REST_BYTES:
                    break
        self._response.close()

    def _read(self) -> JsonObject:
        try:
            for event in read_events(self._bounded_chunks()):
                self._beginning = None
                self._grown |= self._stream.add(event)
                if self._stream.is_complete:
                    break
        except (httpx2.RequestError, UnreadableAnswer):
            if not self._stream.has_ended:
                raise
        self._tell()
        if self._beginning is not None:
            return read_object(b"".join(self._beginning))
        if not self._stream.is_usable:
            raise UnreadableAnswer("The answer of the language model broke off.")
        return self._stream.answer()

    def _read_body(self, response: httpx2.Response) -> Iterator[bytes]:
        """The pieces of the body as they come, several events at a time if the connection can do that."""
        connection = response.extensions.get("network_stream")
        is_encoded = "content-encoding" in response.headers
        is_chunked = response.headers.get("transfer-encoding", "").lower() == "chunked"
        if isinstance(connection, BodyStream) and is_chunked and not is_encoded:
            timeout = response.request.extensions["timeout"]["read"]
            with _connection_errors(response.request):
                yield from connection.read_chunks(self._pause, timeout)
        yield from response.iter_bytes()

    def _pause(self, waited: float) -> float:
        """For how many seconds nobody needs what comes, after bytes that were waited for so long.

        To wake up for each event would cost more than the rest of what is done with it. Events that come faster than a
        reader can tell gather anyway, those of a slower model as long as the listener needs nothing.
        """
        taken = time.monotonic() - self._began_at
        if self._is_closing or taken < 0:
            return 0.0
        pause = min(self._partials.patience, _MAX_SHARE * taken)
        return max(pause, _GATHER_SECONDS) if waited < _GATHER_SECONDS else pause

    def _bounded_chunks(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._chunks:
            self._began_at = min(self._began_at, time.monotonic())
            self._partials.require_open()
            size += len(chunk)
            if size > MAX_STREAM_BYTES:
                raise UnreadableAnswer("The answer of the language model is too long.")
            if self._beginning is not None:
                self._beginning.append(chunk)
            yield chunk
            self._tell()  # once for all events that came together

    def _tell(self) -> None:
        for position, call in self._grown.items():
            self._partials.tell(position, call)
        self._grown.clear()


@contextlib.contextmanager
def _connection_errors(request: httpx2.Request) -> Iterator[None]:
    """Raise the errors of a connection as those of the HTTP client, as where it reads by itself."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise httpx2.ReadTimeout(str(error), request=request) from error
    except httpcore2.NetworkError as error:
        raise httpx2.ReadError(str(error), request=request) from error


def _sdk_error(error: httpx2.RequestError) -> openai.OpenAIError:
    """The SDK's error for one of the connection, as while it reads an answer by itself."""
    kind = openai.APITimeoutError if isinstance(error, httpx2.TimeoutException) else openai.APIConnectionError
    return kind(request=error.request)
