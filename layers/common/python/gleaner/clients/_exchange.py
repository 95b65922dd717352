"""Asks a model once, in the dialect of its provider, for a whole answer or for a stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

from gleaner.clients import _chat_completions, _responses
from gleaner.clients._dialect import Api, Dialect, Forcing
from gleaner.clients._model_request import ModelRequest, read_object
from gleaner.clients._openai_sdk import openai
from gleaner.clients._streamed_answer import AnswerStream, post_streamed
from gleaner.clients._streamed_chat import ChatStream
from gleaner.clients._streamed_response import ResponseStream
from gleaner.clients.time_limit import run_within
from gleaner.model import JsonObject, ModelTurn

_MODULES: dict[Api, ModuleType] = {Api.RESPONSES: _responses, Api.CHAT: _chat_completions}
_STREAMS: dict[Api, Callable[[], AnswerStream]] = {Api.RESPONSES: ResponseStream, Api.CHAT: ChatStream}


def is_streamed(request: ModelRequest, dialect: Dialect) -> bool:
    """Whether the answer is asked for as a stream.

    A call under a schema is read as other words than those that the model writes, so it has no parts to tell.
    """
    wanted = request.partials is not None and dialect.forcing is not Forcing.SCHEMA
    return wanted and dialect.sends("stream")


def ask_once(
    client: openai.OpenAI, model: str, request: ModelRequest, dialect: Dialect, *, seconds: float
) -> ModelTurn:
    """The turn that answers a request. Raises TimeoutError, StoppedByCaller, errors of the SDK, and as `read_turn`."""
    api = _MODULES[dialect.api]
    body: JsonObject = {"model": model} | api.to_body(request, dialect)
    if request.partials and is_streamed(request, dialect):
        body |= {name: value for name, value in api.STREAM_FIELDS.items() if dialect.sends(name)}
        stream = _STREAMS[dialect.api]()
        answer = post_streamed(client, api.PATH, body, seconds=seconds, stream=stream, partials=request.partials)
    else:
        # By its path: the SDK's methods walk through the body in search of names to translate, of which there are
        # none, for a third of the CPU time of a question.
        post = partial(client.post, api.PATH, cast_to=bytes, body=body, options={"timeout": seconds})
        # The SDK bounds each wait, not their sum: a service that drips could exceed any deadline.
        answer = read_object(run_within(seconds, post))
    turn: ModelTurn = api.read_turn(answer, request, dialect)
    return turn
