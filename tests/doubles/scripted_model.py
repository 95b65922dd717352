"""An OpenAI-compatible server for both APIs whose turns are scripted by a test, as chat completions."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.doubles.responses_wire import as_chat_request, as_response
from tests.doubles.streamed_wire import as_event, chat_chunks, response_events

_PIECE = re.compile(rb'"(?:arguments|delta)": "((?:[^"\\]|\\.)*)"')  # of the arguments of a call, in an event
Reply = dict[str, Any] | Response | Callable[[dict[str, Any]], "dict[str, Any] | Response"]


class ScriptedModel:
    """Gives the replies of `script` in order, repeating the last one; records the requests as chat completions.

    A request with `stream: true` gets the same reply as a stream of events, in the form of its API: `model.plays(...)`
    needs no change. Texts and arguments are cut into pieces of `piece_size` characters, and `piece_seconds` pass before
    each event (0.02 is a model of 50 events a second). `events_sent` counts the events of all streams, so a test sees
    how far a stream went that its reader closed: set `piece_seconds` then, or all events fit into the network's
    buffers. A stream that has sent the text `hold_at` in arguments stops until `go_on` is set: what a test sees then
    does not depend on how fast it looks. `plays` restores all of these, and lets streams that stopped go on. A reply
    that is a `Response`, such as an error, is sent as it is.
    """

    def __init__(self) -> None:
        self.piece_size = 7  # characters
        self.piece_seconds = 0.0
        self.events_sent = 0
        self.hold_at = ""
        self.go_on = threading.Event()
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []  # of the requests, as they came
        self.authorizations: list[str] = []  # one header per request
        self._lock = threading.Lock()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/responses", self._respond, methods=["POST"]),
            ]
        )

    def plays(self, *replies: Reply) -> None:
        """Restart with these replies."""
        with self._lock:
            self.script = list(replies)
            self.requests = []
            self.bodies = []
            self.authorizations = []
            self.piece_size, self.piece_seconds, self.events_sent = 7, 0.0, 0
            self.go_on.set()
            self.hold_at, self.go_on = "", threading.Event()

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        reply = await self._reply(request, body, body)
        if isinstance(reply, Response):
            return reply
        if not body.get("stream"):
            return _json(reply)
        chunks = chat_chunks(reply, size=self.piece_size)
        return self._stream(itertools.chain(map(as_event, chunks), [b"data: [DONE]\n\n"]))

    async def _respond(self, request: Request) -> Response:
        body = await request.json()
        reply = await self._reply(request, body, as_chat_request(body))
        if isinstance(reply, Response):
            return reply
        if not body.get("stream"):
            return _json(as_response(reply))
        return self._stream(map(as_event, response_events(as_response(reply), size=self.piece_size)))

    def _stream(self, events: Iterable[bytes]) -> Response:
        hold_at, go_on = self.hold_at.encode(), self.go_on

        async def send() -> AsyncIterator[bytes]:
            sent = b""
            for event in events:
                if self.piece_seconds:
                    await asyncio.sleep(self.piece_seconds)
                self.events_sent += 1
                yield event
                sent += b"".join(_PIECE.findall(event))
                while hold_at and hold_at in sent and not go_on.is_set():
                    await asyncio.sleep(0.01)

        return StreamingResponse(send(), media_type="text/event-stream")

    async def _reply(
        self, request: Request, body: dict[str, Any], chat_request: dict[str, Any]
    ) -> dict[str, Any] | Response:
        with self._lock:
            self.requests.append(chat_request)
            self.bodies.append(body)
            self.authorizations.append(request.headers.get("authorization", ""))
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if callable(reply) and not isinstance(reply, Response):
            return await run_in_threadpool(reply, chat_request)
        return reply


def _json(reply: Any) -> Response:
    """ASCII escapes allow a test to send characters that cannot be encoded, such as a lone surrogate."""
    return Response(json.dumps(reply), media_type="application/json")


def completion(message: dict[str, Any], *, finish_reason: str = "tool_calls") -> dict[str, Any]:
    """A chat completion with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def calls(*tools: tuple[str, Any], ids: list[str] | None = None, finish_reason: str = "tool_calls") -> dict[str, Any]:
    """A turn that calls tools (name, arguments); arguments other than strings are encoded as JSON."""
    return completion(
        {
            "content": None,
            "tool_calls": [
                {
                    "id": ids[position] if ids else f"call_{position}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                    },
                }
                for position, (name, arguments) in enumerate(tools)
            ],
        },
        finish_reason=finish_reason,
    )


def says(text: str | None, **more: Any) -> dict[str, Any]:
    """A turn with plain text, and with more fields of the message."""
    return completion({"content": text} | more, finish_reason="stop")


def search(query: str = "merging keywords", **more: Any) -> tuple[str, Any]:
    """A call of knowledge_base_search."""
    return "knowledge_base_search", {"query": query, **more}


def web(query: str = "latest release of starlette") -> tuple[str, Any]:
    """A call of perplexity_search."""
    return "perplexity_search", {"query": query}


def index(*keywords: Any) -> tuple[str, Any]:
    """A call of index_keywords."""
    return "index_keywords", {"keywords": list(keywords)}


def answer(text: str = "Merged. [kb-1]", sources: tuple[str, ...] = ("kb-1",), **more: Any) -> tuple[str, Any]:
    """A call of generate_response."""
    facts = {"used_internal_kb": True, "used_external_kb": False}
    return "generate_response", {"answer": text, "sources": list(sources), **facts, **more}
