"""A provider of language models within this process: its answers are written down in advance."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection
from typing import Any

import httpx2
import openai

from gleaner.clients._dialect import first_dialect, without_schema
from gleaner.clients.chat_model import Api, ChatModel
from gleaner.model import ChatMessage, ModelTurn, PartialCall, ToolSpec
from gleaner.runtime.deadline import Deadline

Json = dict[str, Any]
Reply = tuple[int, Any] | httpx2.Response | Callable[[Json], "tuple[int, Any] | httpx2.Response"]

TEXT_SCHEMA = {"type": "string"}
SEARCH = ToolSpec(
    name="search",
    description="Searches.",
    parameters={"type": "object", "properties": {"query": TEXT_SCHEMA, "top": TEXT_SCHEMA}, "required": ["query"]},
)
ANSWER = ToolSpec(
    name="answer",
    description="Answers.",
    parameters={
        "type": "object",
        "properties": {"text": TEXT_SCHEMA, "sources": {"type": "array", "items": TEXT_SCHEMA}},
        "required": ["text", "sources"],
    },
    choices={"sources": ("kb-1",)},
)
QUESTION = (ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="a question of a user"))


class InProcessProvider:
    """Gives its replies in order, the last one again and again; keeps the paths and bodies of the requests."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.paths: list[str] = []
        self.bodies: list[Json] = []
        self._lock = threading.Lock()

    def model(
        self,
        api: Api = Api.CHAT,
        *,
        apis: Collection[Api] = tuple(Api),
        name: str = "a-model",
        effort: str | None = None,
        schemas: bool = True,
    ) -> ChatModel:
        """A client of this provider; without `schemas`, it never asks for JSON in place of a call."""
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        client = openai.OpenAI(api_key="k", base_url="http://provider/v1", max_retries=0, http_client=http)
        dialect = first_dialect(api, apis, name, effort)
        dialect = dialect if schemas else without_schema(dialect)
        return ChatModel(client, model=name, max_output_tokens=100, dialect=dialect, attempts=2)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        with self._lock:
            self.paths.append(request.url.path.removeprefix("/v1"))
            self.bodies.append(body)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply) and not isinstance(reply, httpx2.Response):
            reply = reply(body)
        return reply if isinstance(reply, httpx2.Response) else httpx2.Response(reply[0], json=reply[1])


def ask(
    model: ChatModel,
    *callable_tools: str,
    messages: Collection[ChatMessage] = QUESTION,
    tools: Collection[ToolSpec] = (SEARCH, ANSWER),
    on_partial: Callable[[PartialCall], None] | None = None,
) -> ModelTurn:
    """The next turn; by default, `search` must be called."""
    return model.complete(
        list(messages),
        list(tools),
        callable_tools=callable_tools or ("search",),
        deadline=Deadline.after(30),
        on_partial=on_partial,
    )


def chat_call(name: str = "search", arguments: str = '{"query": "x"}', **message: Any) -> tuple[int, Json]:
    """A chat completion with one call."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return chat_message({"content": None, "tool_calls": [call]} | message, finish_reason="tool_calls")


def chat_message(message: Json, *, finish_reason: str = "stop") -> tuple[int, Json]:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return 200, {"model": "m", "choices": [choice], "usage": usage}


def response(*items: Json, **fields: Any) -> tuple[int, Json]:
    """A response of the Responses API."""
    usage = {"input_tokens": 100, "output_tokens": 10}
    return 200, {"model": "m", "status": "completed", "output": list(items), "usage": usage} | fields


def function_call(number: int = 1, name: str = "search", **fields: Any) -> Json:
    """An output item with a call."""
    item = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "call_id": f"call_{number}"}
    return item | {"name": name, "arguments": '{"query": "x"}'} | fields


def reasoning(number: int = 1, **fields: Any) -> Json:
    """An output item with encrypted reasoning."""
    return {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": f"gAAAA{number}"} | fields


def message_item(text: str, kind: str = "output_text", **fields: Any) -> Json:
    """An output item with text."""
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    item = {"id": f"msg_{text}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    return item | fields


def openai_error(message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> Reply:
    """A refusal in the form of OpenAI."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return status, {"error": error}
