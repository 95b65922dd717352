"""Version 1 of the AI SDK's UI message stream: turns the events of an answer into server-sent events.

What a client does with each part is in the npm package `ai` 7.0.173, in `ui-message-stream/ui-message-chunks.ts` and
`ui/process-ui-message-stream.ts`. Versions 5 and 6 read these parts as well, so no part here is newer than they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from gleaner.answering import events
from gleaner.document_files import media_type_of
from gleaner.model import JsonObject, Passage
from gleaner.stores.conversation_items import message_id

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_DONE = b"data: [DONE]\n\n"
_FINISH_STEP: JsonObject = {"type": "finish-step"}
# A UI shows the text of a part that has ended, unless it looks at this mark. The protocol takes no text back, but for
# `reset-step`, which versions 5 and 6 fail at.
_WITHDRAWN: JsonObject = {"gleaner": {"withdrawn": True}}


class UiMessageStream:
    """Encodes one answer. The methods return bytes to send at once."""

    def __init__(self) -> None:
        self._is_started = False
        self._has_step = False
        self._text: str | None = None  # of the open text part, as far as it was sent
        self._text_count = 0

    @property
    def headers(self) -> Mapping[str, str]:
        """The version of the protocol."""
        return _HEADERS

    def encode(self, event: events.Event) -> bytes:
        """What an event tells the client; nothing for the last one, whose JSON `finish` is given."""
        return _encode(self._to_parts(event))

    def finish(self, body: str) -> bytes:
        """The end of an answer. `body` is the JSON that the route without streaming answers with.

        It may be one that was stored: then nothing came before it.
        """
        answer = json.loads(body)
        message = answer.get("message") or {"id": answer["message_id"], "session_id": answer["session_id"]}
        text = message["content"] if "content" in message else answer["answer"]
        start, sources = self._start(message["id"], message["session_id"]), map(_to_source, answer["sources"])
        return _encode(start, self._complete(text), sources) + _embed("data-gleaner-answer", body) + self._end()

    def fail(self, problem: str) -> bytes:
        """The end of a question that failed; `problem` is the JSON of the problem document."""
        # The client stops at the part `error`: what it is to keep stands before it.
        detail = json.loads(problem)["detail"]
        error = {"type": "error", "errorText": detail}
        return _encode(self._withdraw()) + _embed("data-gleaner-problem", problem) + _encode([error]) + self._end()

    def _to_parts(self, event: events.Event) -> Iterator[JsonObject]:
        match event:
            case events.Started():
                yield from self._start(message_id(event.query_id, "assistant"), event.session_id)
            case events.StepTaken():
                yield from self._take_step(event.step.value)
            case events.ToolCalled():
                yield _to_call(event)
            case events.ToolFinished():
                yield _to_outcome(event)
            case events.PassagesFound():
                yield {"type": "data-gleaner-passages", "data": [_to_reference(passage) for passage in event.passages]}
            case events.AnswerDelta():
                yield from self._write(event.text)
            case events.AnswerWithdrawn():
                yield from self._withdraw()
            case events.Answered():
                pass

    def _start(self, message: str, session_id: str | None) -> Iterator[JsonObject]:
        if not self._is_started:
            self._is_started = True
            metadata = {"query_id": message.partition("-")[0], "session_id": session_id}
            yield {"type": "start", "messageId": message, "messageMetadata": metadata}

    def _take_step(self, step: str) -> Iterator[JsonObject]:
        # Versions 5 and 6 close the open text part at the end of a step; a delta after that is an error.
        if self._text is None:
            if self._has_step:
                yield _FINISH_STEP
            self._has_step = True
            yield {"type": "start-step"}
        yield {"type": "data-gleaner-step", "data": {"step": step}}

    def _write(self, text: str) -> Iterator[JsonObject]:
        if self._text is None:
            self._text = ""
            self._text_count += 1
            yield {"type": "text-start", "id": self._text_id()}
        if text:
            self._text += text
            yield {"type": "text-delta", "id": self._text_id(), "delta": text}

    def _complete(self, text: str) -> Iterator[JsonObject]:
        """Send what is missing of the answer, so that the last text part is the answer whatever came before."""
        if self._text is not None and not text.startswith(self._text):
            yield from self._withdraw()
        yield from self._write(text[len(self._text or "") :])
        yield {"type": "text-end", "id": self._text_id()}
        self._text = None

    def _withdraw(self) -> Iterator[JsonObject]:
        if self._text is not None:
            self._text = None
            yield {"type": "text-end", "id": self._text_id(), "providerMetadata": _WITHDRAWN}

    def _text_id(self) -> str:
        return f"text-{self._text_count}"

    def _end(self) -> bytes:
        return _encode([_FINISH_STEP] if self._has_step else [], [{"type": "finish"}]) + _DONE


def _to_call(event: events.ToolCalled) -> JsonObject:
    # `dynamic`: the client need not know the tool. `providerExecuted`: it is not asked to run it.
    return {
        "type": "tool-input-available",
        "toolCallId": event.call_id,
        "toolName": event.tool,
        "input": _as_json(event.arguments),
        "dynamic": True,
        "providerExecuted": True,
    }


def _as_json(arguments: JsonObject) -> JsonObject:
    """The same with null for NaN and infinity, which models write and JSON does not have."""
    value: JsonObject = json.loads(json.dumps(arguments), parse_constant=lambda _: None)
    return value


def _to_outcome(event: events.ToolFinished) -> JsonObject:
    part: JsonObject = {"toolCallId": event.call_id, "dynamic": True, "providerExecuted": True}
    if event.error is not None:
        return {"type": "tool-output-error", "errorText": event.error, **part}
    output = event.result | {"duration_ms": round(event.duration_ms, 1)}
    return {"type": "tool-output-available", "output": output, **part}


def _to_source(source: JsonObject) -> JsonObject:
    """A source of the answer: a page if it has an address, else a document."""
    part: JsonObject = {"sourceId": source["id"], "title": source["title"], "providerMetadata": {"gleaner": source}}
    if url := source.get("source_url"):
        return {"type": "source-url", "url": url, **part}
    path = source.get("source_file_path") or ""
    named = {"filename": PurePosixPath(path).name} if path else {}
    return {"type": "source-document", "mediaType": media_type_of(path), **part, **named}


def _to_reference(passage: Passage) -> JsonObject:
    """What a client needs to show the mark of a passage, without its text."""
    return {
        "id": passage.id,
        "source_type": passage.source_type.value,
        "title": passage.title,
        "chapter": passage.chapter,
        "source_file_path": passage.source_file_path,
        "source_url": passage.source_url,
        "page_number": passage.page_number,
        "page_label": passage.page_label,
    }


def _encode(*groups: Iterable[JsonObject]) -> bytes:
    # ASCII escapes: arguments of the model may hold characters that cannot be encoded, such as a lone surrogate.
    parts = [json.dumps(part, separators=(",", ":")) for group in groups for part in group]
    return "".join(f"data: {part}\n\n" for part in parts).encode()


def _embed(part_type: str, data: str) -> bytes:
    """A data part whose data is JSON text that stays as it is. JSON in one line never ends a server-sent event."""
    return f'data: {{"type":"{part_type}","data":{data}}}\n\n'.encode()
