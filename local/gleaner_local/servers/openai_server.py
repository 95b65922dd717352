"""Serves the extractive model through OpenAI's Responses API and chat completions, whole or as streams."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import MODEL, Call, ExtractiveModel
from gleaner_local.servers._json_api import EventStream, create_json_app
from gleaner_local.servers._openai_requests import ChatRequest, messages_as_json, read_request
from gleaner_local.servers._openai_streams import chat_stream, response_stream
from gleaner_local.servers._responses_requests import read_responses_request

__all__ = ["MODEL", "create_app"]

# A constant instead of the time, so that the same request gives the same response, byte for byte.
CREATED = 0
# Typical of English text in the vocabularies of language models.
CHARS_PER_TOKEN = 4
_FRACTION = re.compile(rb": \d+\.\d+")

WITHOUT_TOOLS = (
    "Ask your question of the model gleaner, which answers it from your documents: this one writes only the titles, "
    "tags and suggestions that chat clients ask for."
)


def create_app(judge: Judge | None = None) -> Starlette:
    """Create the application: `POST /v1/responses` and `/v1/chat/completions`, `GET /v1/models`.

    Any bearer token is accepted.

    Without `judge`, the installed weights are used if there are any.
    """
    model = ExtractiveModel(judge or Judge.installed())
    return create_json_app(
        {
            ("POST", "/v1/responses"): partial(_respond, model),
            ("POST", "/v1/chat/completions"): partial(_complete, model),
            ("GET", "/v1/models"): _list_models,
        }
    )


def _list_models(_: bytes) -> dict[str, Any]:
    model = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "gleaner"}
    return {"object": "list", "data": [model]}


def _complete(model: ExtractiveModel, body: bytes) -> dict[str, Any] | EventStream:
    request = read_request(body, model=MODEL)
    calls, text = _reply(model, request)
    digest = hashlib.sha256(body).hexdigest()
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = _wire_calls(calls, digest)
    # At OpenAI, a call that tool_choice forces by name finishes with "stop", any other call with "tool_calls".
    finish = "tool_calls" if calls and isinstance(request.tool_choice, str | None) else "stop"
    completion = {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": _usage(body, calls, text),
    }
    if not request.stream:
        return completion
    with_usage = request.stream_options is not None and request.stream_options.include_usage is True
    return EventStream(chat_stream(completion, with_usage=with_usage))


def _respond(model: ExtractiveModel, body: bytes) -> dict[str, Any] | EventStream:
    request = read_responses_request(body, model=MODEL)
    calls, text = _reply(model, request)
    digest = hashlib.sha256(body).hexdigest()
    usage = _usage(body, calls, text)
    response = {
        "id": f"resp_{digest[:24]}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": MODEL,
        "output": _output_items(calls, text, digest),
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }
    return EventStream(response_stream(response)) if request.stream else response


def _reply(model: ExtractiveModel, request: ChatRequest) -> tuple[list[Call], str]:
    """The calls, or without any the text."""
    messages, offered = messages_as_json(request), request.allowed_functions()
    written = None if offered else model.write(messages)
    if written is not None:
        return [], written
    calls = model.next_calls(messages, offered, parallel=request.parallel_tool_calls is not False)
    return calls, "" if calls else WITHOUT_TOOLS


def _output_items(calls: Sequence[Call], text: str, digest: str) -> list[dict[str, Any]]:
    if not calls:
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "id": f"msg_{digest[:24]}", "status": "completed", "role": "assistant"}
        return [message | {"content": [part]}]
    return [
        {
            "type": "function_call",
            "id": f"fc_{digest[:20]}{position}",
            "call_id": f"call_{digest[:20]}{position}",
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for position, call in enumerate(calls)
    ]


def _wire_calls(calls: Sequence[Call], digest: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{digest[:20]}{position}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for position, call in enumerate(calls)
    ]


def _usage(body: bytes, calls: Sequence[Call], text: str) -> dict[str, int]:
    """Estimated from the length: this model has no tokens.

    A fraction counts as one character, so that the time that a search took does not change how much it says it read.
    """
    prompt = -(-len(_FRACTION.sub(b": 0", body)) // CHARS_PER_TOKEN)
    written = [text, *(call.name + call.arguments for call in calls)]
    completion = sum(-(-len(piece) // CHARS_PER_TOKEN) for piece in written)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
