"""Reads streams of server-sent events whose data is JSON, as services of language models write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gleaner.clients._json_values import as_object, as_string, parse_json
from gleaner.clients._model_request import UnreadableAnswer
from gleaner.model import JsonObject

_DONE = b"[DONE]"


@dataclass(slots=True)  # a frozen one takes three times as long to make
class ServerSentEvent:
    """One event; `name` is that of its `event` field, and `is_last` says that nothing comes after it."""

    name: str
    data: JsonObject
    is_last: bool = False


def read_events(chunks: Iterable[bytes]) -> Iterator[ServerSentEvent]:
    """The events in the chunks of a body; bytes that belong to none are skipped.

    A data line that is JSON is an event, so that a blank line may be missing; data over several lines are joined, as
    the standard says (html.spec.whatwg.org/multipage/server-sent-events.html). llama.cpp once named the field of an
    error `error`. Raises UnreadableAnswer for data that are no JSON.
    """
    name, pending = "", list[bytes]()
    for line in _lines(chunks):
        field, _, value = line.partition(b":")
        if field == b"event":
            name = as_string(value.decode("utf-8", "replace").strip())
        elif field in (b"data", b"error"):
            stripped = value.strip()
            if stripped.startswith(_DONE):
                yield ServerSentEvent(name, {}, is_last=True)
                return
            if not stripped:
                continue  # a sign of life
            if field == b"error":
                name = "error"
            data = None if pending else _parse(value)
            if data is None:
                pending.append(value)
            else:
                yield ServerSentEvent(name, data)
        elif not line:
            if pending:
                yield from _joined(name, pending)
            name, pending = "", []
    yield from _joined(name, pending)


def _joined(name: str, pending: list[bytes]) -> Iterator[ServerSentEvent]:
    if not pending:
        return
    data = _parse(b"\n".join(pending))
    if data is None:
        raise UnreadableAnswer("The language model sent an event that cannot be read.")
    yield ServerSentEvent(name, data)


def _parse(value: bytes) -> JsonObject | None:
    try:
        return as_object(parse_json(value))
    except ValueError:
        return None


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their ends, which are LF, CR or both."""
    rest: list[bytes] = []
    for chunk in chunks:
        if not rest and chunk.endswith(b"\n"):  # as nearly all are
            yield from chunk.splitlines()
            continue
        rest.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            continue  # without this, a long line in many chunks would be copied as many times
        lines = b"".join(rest).splitlines(keepends=True)
        # The last one may go on; after a CR, its LF may still come.
        rest = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        yield from (line.rstrip(b"\r\n") for line in lines)
    yield from b"".join(rest).splitlines()
