"""Chat completion chunks: turns the events of an answer into the stream of OpenAI's API.

What clients do with a chunk is in openai 3.57.0 of PyPI (`_streaming.py`) and 7.59.0 of npm (`core/streaming.js`): an
object with `error` ends the stream with that error, whatever its event is named, and comments are skipped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from gleaner.answering import events
from gleaner.api.protocols.chat_completion import completion_id
from gleaner.api.protocols.openai_errors import describe_withdrawal
from gleaner.model import JsonObject

_DONE = b"data: [DONE]\n\n"


class ChatCompletionStream:
    """Encodes one answer. The methods return bytes to send at once.

    What was sent can never be taken back. So the deltas are always a beginning of the answer, and all of it in the end;
    if the answer begins otherwise in the end, the stream ends with an error.
    """

    def __init__(self, model: str, *, with_usage: bool) -> None:
        """`with_usage`: the client asked for a last chunk with the usage."""
        self._model = model
        self._with_usage = with_usage
        self._head: JsonObject = {}  # what all chunks share; empty until one was sent
        self._sent = ""
        self._text = ""  # the answer as far as it came; another one may take its place

    @property
    def headers(self) -> Mapping[str, str]:
        """None: clients recognize a stream by its type."""
        return {}

    def encode(self, event: events.Event) -> bytes:
        """What an event tells the client: that the answer is on its way, and its words."""
        match event:
            case events.Started():
                return self._start(completion_id(event.query_id), int(time.time()))
            case events.AnswerDelta():
                self._text += event.text
                return self._catch_up()
            case events.AnswerWithdrawn():
                self._text = ""
        return b""

    def finish(self, body: str) -> bytes:
        """The rest of an answer. `body` is its chat completion, perhaps a stored one: then nothing came before it."""
        completion = json.loads(body)
        [choice] = completion["choices"]
        self._text = choice["message"]["content"]
        if not self._text.startswith(self._sent):
            return self.fail(describe_withdrawal(completion))
        chunks = self._start(completion["id"], completion["created"]) + self._catch_up()
        if annotations := choice["message"]["annotations"]:
            chunks += self._chunk({"annotations": annotations})
        whole = {"gleaner": completion["gleaner"]}  # in the last chunk
        if not self._with_usage:
            return chunks + self._chunk({}, choice["finish_reason"], whole) + _DONE
        chunks += self._chunk({}, choice["finish_reason"])
        return chunks + _encode(self._head | {"choices": [], "usage": completion["usage"]} | whole) + _DONE

    def fail(self, problem: str) -> bytes:
        """The end of a question that failed; `problem` is the body of the error response."""
        return f"event: error\ndata: {problem}\n\n".encode() + _DONE

    def _start(self, id: str, created: int) -> bytes:
        """The first chunk, unless it was sent."""
        if self._head:
            return b""
        self._head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": self._model}
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def _catch_up(self) -> bytes:
        """Send what goes beyond what was sent, unless it begins otherwise."""
        if len(self._text) <= len(self._sent) or not self._text.startswith(self._sent):
            return b""
        rest, self._sent = self._text[len(self._sent) :], self._text
        return self._chunk({"content": rest})

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None, more: JsonObject | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._with_usage else {}
        return _encode(self._head | {"choices": [choice]} | usage | (more or {}))


def _encode(chunk: JsonObject) -> bytes:
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode()
