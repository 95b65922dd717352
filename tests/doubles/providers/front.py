"""What the stubs of providers share: requests are kept and counted, and chat completions have one common form."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.providers.brain import PLAIN_ANSWER, Call, Conversation, next_calls, read_chat, written_under
from tests.doubles.streamed_wire import as_event, chat_chunks, response_events

Json = dict[str, Any]

_PIECE_SIZE = 9  # characters of a delta


class Refused(Exception):
    """The provider answers with an error."""

    def __init__(self, status: int, body: Any, *, media_type: str = "application/json") -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.media_type = media_type


def openai_error(
    message: str, *, param: str | None = None, code: str | None = None, status: int = 400, kind: str | None = None
) -> Refused:
    """An error in the form of OpenAI."""
    error = {"message": message, "type": kind or "invalid_request_error", "param": param, "code": code}
    return Refused(status, {"error": error})


def listed(values: Sequence[str]) -> str:
    """Values as OpenAI lists them in a message."""
    quoted = [f"'{value}'" for value in values]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


class Provider:
    """A server of one provider. `violations` names what the real one may forgive but the client must not do."""

    prefix = "/v1"

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self.paths: list[str] = []
        self.useful = 0  # requests that were answered with a call
        self.refusals: list[Refused] = []
        self.violations: list[str] = []
        self.opaque: list[str] = []  # what was sent to be carried back, and must not be kept or shown
        self._numbers = itertools.count(1)
        methods = ["GET", "POST", "PUT", "DELETE"]
        self.app = Starlette(routes=[Route("/{path:path}", self._handle, methods=methods)])

    @property
    def wasted(self) -> int:
        """Requests that were refused, or answered with something other than a call."""
        return len(self.requests) - self.useful

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The base URL of a server that runs within the block."""
        server = AsgiServer(self.app)
        server.start()
        try:
            yield f"{server.url}{self.prefix}"
        finally:
            server.stop()

    def answer(self, path: str, body: Json) -> Json:
        """The answer to a request. Raises Refused."""
        raise NotImplementedError

    def events(self, answer: Json, body: Json) -> Iterator[bytes]:
        """The stream that a request is answered with."""
        if "choices" not in answer:
            yield from map(as_event, response_events(answer, size=_PIECE_SIZE))
            return
        yield from map(as_event, self.chunks(answer, body))
        yield b"data: [DONE]\n\n"

    def chunks(self, completion: Json, body: Json) -> Iterator[Json]:
        """A chat completion as chunks; usage only comes if it is asked for."""
        if not (body.get("stream_options") or {}).get("include_usage"):
            completion = {name: value for name, value in completion.items() if name != "usage"}
        return chat_chunks(completion, size=_PIECE_SIZE)

    def not_found(self) -> Refused:
        """What a path is answered with that the server does not know."""
        return Refused(404, {"detail": "Not Found"})

    def secret(self, name: str) -> str:
        """An opaque string that no other answer holds."""
        text = f"opaque-{name}-{next(self._numbers)}-{type(self).__name__}"
        self.opaque.append(text)
        return text

    async def _handle(self, request: Request) -> Response:
        body = json.loads(await request.body())
        path = request.url.path.removeprefix(self.prefix)
        self.requests.append(body)
        self.paths.append(path)
        try:
            answer = self.answer(path, body)
        except Refused as refused:
            self.refusals.append(refused)
            return Response(json.dumps(refused.body), refused.status, media_type=refused.media_type)
        if not body.get("stream"):
            return Response(json.dumps(answer), media_type="application/json")
        return Response(b"".join(self.events(answer, body)), media_type="text/event-stream")


class ChatProvider(Provider):
    """A server of chat completions that refuses nothing."""

    model = "model"
    enforces_schemas = True
    ignores_tools = False  # the model answers in plain text

    def answer(self, path: str, body: Json) -> Json:
        if path != "/chat/completions":
            raise self.not_found()
        self.check_protocol(body["messages"])
        self.check(body)
        conversation = read_chat(body["messages"])
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        if schema and self.enforces_schemas:
            self.useful += 1
            return self.completion({"content": self.write(schema, conversation)}, "stop", body)
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        calls = [] if self.ignores_tools else next_calls(conversation, names)
        if not calls:
            return self.completion({"content": PLAIN_ANSWER}, "stop", body)
        self.useful += 1
        return self.completion(self.message(calls), self.finish_reason(body), body)

    def check(self, body: Json) -> None:
        """Refuse what this provider refuses. Raises Refused."""

    def write(self, schema: Json, conversation: Conversation) -> str:
        """The text that the model writes under a schema."""
        return written_under(schema, conversation)

    def message(self, calls: list[Call]) -> Json:
        """The assistant's message with calls."""
        return {"content": None, "tool_calls": [self.call(call, position) for position, call in enumerate(calls)]}

    def call(self, call: Call, position: int) -> Json:
        """One call, the one at `position` in its turn."""
        return {
            "id": self.call_id(position),
            "type": "function",
            "function": {"name": call.name, "arguments": call.text},
        }

    def call_id(self, position: int) -> str:
        """An id for the call at `position`."""
        return f"call_{next(self._numbers)}"

    def finish_reason(self, body: Json) -> str:
        """Why a turn with calls ended."""
        return "tool_calls"

    def completion(self, message: Json, finish_reason: str, body: Json) -> Json:
        """The body of a 200 answer."""
        return {
            "id": f"chatcmpl-{next(self._numbers)}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant"} | message,
                    "logprobs": None,
                    "finish_reason": finish_reason,
                }
            ],
            "usage": self.usage(),
        }

    def usage(self) -> Json:
        """What the request used."""
        return {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def check_protocol(self, messages: list[Json]) -> None:
        """Every call has one result, at once and in order."""
        waiting: list[str] = []
        for message in messages:
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    self.violations.append("a result without its call")
                else:
                    waiting.remove(message["tool_call_id"])
                continue
            if waiting:
                self.violations.append("a call without its result")
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if waiting:
            self.violations.append("a call without its result")


def assistant_messages(body: Json) -> list[Json]:
    """The messages of the model that come back with a request and hold calls."""
    return [message for message in body["messages"] if message["role"] == "assistant" and message.get("tool_calls")]


def whole_calls(completion: Json, *, index: int | None) -> Iterator[Json]:
    """A chat completion whose calls each come whole in a chunk of their own, all with the same index or without one."""
    for chunk in chat_chunks(completion, size=1_000_000):
        delta = chunk["choices"][0]["delta"] if chunk["choices"] else {}
        if not delta.get("tool_calls"):
            yield chunk
        elif "name" in delta["tool_calls"][0]["function"]:
            number = delta["tool_calls"][0]["index"]
            call = completion["choices"][0]["message"]["tool_calls"][number]
            place = {} if index is None else {"index": index}
            yield chunk | {"choices": [chunk["choices"][0] | {"delta": {"tool_calls": [place | call]}}]}
