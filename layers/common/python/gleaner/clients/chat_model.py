"""The language model: OpenAI's Responses API, or chat completions of OpenAI and of compatible providers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from gleaner.clients._adaptation import Refusal, adapt
from gleaner.clients._body_streams import body_stream_mounts
from gleaner.clients._constrained_calls import CONSTRAINED
from gleaner.clients._content_filters import is_filter_error
from gleaner.clients._dialect import Api, Dialect, Forcing, first_dialect, with_schema, without_schema
from gleaner.clients._exchange import ask_once, is_streamed
from gleaner.clients._failures import (
    PASSING_STATUSES,
    TIMED_OUT,
    RequestRefused,
    describe_refusal,
    read_refusal,
    read_retry_delay,
    refuses_streaming,
    translate_error,
)
from gleaner.clients._model_request import ModelRequest
from gleaner.clients._openai_sdk import openai
from gleaner.clients._partial_calls import PartialCalls, StoppedByCaller
from gleaner.clients._tls import tls_context
from gleaner.errors import AnswerRefused, DeadlineExceeded, ModelUnavailable
from gleaner.model import ChatMessage, ModelTurn, PartialCall, ToolSpec
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.runtime.spans import note, span

__all__ = ["Api", "ChatModel", "connect"]

logger = logging.getLogger(__name__)

_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")

_MAX_REQUEST_SECONDS = 300.0  # the deadline is shorter wherever an API Gateway waits
# Statuses that refuse this very request; providers choose among them freely.
_REFUSALS = frozenset((400, 404, 405, 413, 422, 501))


class ChatModel:
    """One language model. It remembers how its provider wants to be asked."""

    def __init__(
        self, client: openai.OpenAI, *, model: str, max_output_tokens: int, dialect: Dialect, attempts: int = 3
    ) -> None:
        """`client` must not retry by itself: retries are bounded by the deadline here."""
        self._client = client
        self._model = model
        self._max_output_tokens = max_output_tokens
        self._dialect = dialect
        self._attempts = attempts
        self._has_called = False  # a tool, so that plain text is the exception: JSON is then asked for once only

    @property
    def dialect(self) -> Dialect:
        """How the provider is asked at present."""
        return self._dialect

    def complete(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        *,
        callable_tools: Collection[str],
        deadline: Deadline,
        on_partial: Callable[[PartialCall], float | None] | None = None,
    ) -> ModelTurn:
        """Ask for the next turn, in which one of the tools named in `callable_tools` must be called.

        The caller checks that the model really called one, or refused. Raises ModelUnavailable, ContextTooLong,
        AnswerRefused if a content filter stops the request, or DeadlineExceeded when the model does not answer in time.

        With `on_partial`, the model is asked for a stream, and each part of a tool call is told as it arrives; the turn
        is the same. It is called in another thread, in a copy of the caller's context, and never after this returns.
        What it raises ends the stream at once and is raised here. It may return the seconds for which it needs nothing
        more, and then what comes meanwhile may be told later. A provider may send a call in one piece, or refuse to
        stream; a call that is asked for by a schema has no parts.
        """
        request = ModelRequest(
            messages=messages,
            tools=tools,
            callable_tools=[tool for tool in tools if tool.name in callable_tools],
            max_output_tokens=self._max_output_tokens,
            partials=PartialCalls(on_partial, tools) if on_partial else None,
        )
        try:
            return self._ask_and_learn(request, deadline)
        except StoppedByCaller as stopped:
            reason = stopped.reason
        raise reason  # outside of the handler, which would become its context

    def write(self, messages: Sequence[ChatMessage], *, deadline: Deadline) -> ModelTurn:
        """Ask for a text, without tools. The caller checks that there is one. Raises the errors of `complete`."""
        request = ModelRequest(
            messages=messages, tools=(), callable_tools=(), max_output_tokens=self._max_output_tokens
        )
        return self._ask_and_learn(request, deadline)

    def _ask_and_learn(self, request: ModelRequest, deadline: Deadline) -> ModelTurn:
        first = self._dialect
        if any(message.opaque == CONSTRAINED for message in request.messages):
            # Some providers refuse calls that they did not make themselves, so a question that has one stays with JSON.
            first = with_schema(first) or first
        dialect, turn = self._ask_until_accepted(request, first, deadline)
        is_text = not turn.tool_calls and not turn.is_refused and turn.finish_reason != "length"
        if request.callable_tools and is_text and (constrained := with_schema(dialect)):
            dialect, turn = self._ask_for_json(request, constrained, (dialect, turn), deadline)
        elif turn.tool_calls and dialect.forcing is not Forcing.SCHEMA:
            self._has_called = True
        if dialect != first:  # otherwise another thread may have learned more
            self._dialect = dialect
        return turn

    def _ask_until_accepted(
        self, request: ModelRequest, dialect: Dialect, deadline: Deadline
    ) -> tuple[Dialect, ModelTurn]:
        """The turn, and the dialect that it was got by: after each refusal, another one."""
        tried: set[Dialect] = set()
        while True:
            tried.add(dialect)
            try:
                return dialect, self._ask_with_retries(request, dialect, deadline)
            except RequestRefused as refused:
                dialect = _adapted(dialect, refused.refusal, tried)
            except StoppedByCaller:
                # It was asked in the right way, and called a tool. What had to be learned must not be lost.
                self._has_called = True
                self._dialect = dialect if len(tried) > 1 else self._dialect
                raise

    def _ask_for_json(
        self, request: ModelRequest, constrained: Dialect, plain: tuple[Dialect, ModelTurn], deadline: Deadline
    ) -> tuple[Dialect, ModelTurn]:
        """Ask once more after an answer in plain text; the dialect is that of the next request."""
        logger.warning("the model answered in text where a call was due; it is asked for JSON")
        dialect, wasted = plain
        try:
            constrained, turn = self._ask_until_accepted(request, constrained, deadline)
        except _NotAccepted:
            return without_schema(dialect), wasted
        if self._has_called:
            constrained = dialect if turn.tool_calls else without_schema(dialect)
        return constrained, replace(turn, usage=turn.usage + wasted.usage)

    def _ask_with_retries(self, request: ModelRequest, dialect: Dialect, deadline: Deadline) -> ModelTurn:
        try:
            return with_retries(
                partial(self._ask, request, dialect, deadline),
                retry_after=read_retry_delay,
                deadline=deadline,
                attempts=self._attempts,
            )
        except openai.OpenAIError as error:
            raise translate_error(error) from error

    def _ask(self, request: ModelRequest, dialect: Dialect, deadline: Deadline) -> ModelTurn:
        with span("language model", model=self._model, api=dialect.api.value):
            turn = self._post(request, dialect, deadline)
            note(
                input_tokens=turn.usage.input_tokens,
                cached_input_tokens=turn.usage.cached_input_tokens,
                output_tokens=turn.usage.output_tokens,
                reasoning_tokens=turn.usage.reasoning_tokens,
            )
        return turn

    def _post(self, request: ModelRequest, dialect: Dialect, deadline: Deadline) -> ModelTurn:
        seconds = deadline.timeout(_MAX_REQUEST_SECONDS)
        try:
            return ask_once(self._client, self._model, request, dialect, seconds=seconds)
        except TimeoutError:
            raise DeadlineExceeded(TIMED_OUT) from None
        except openai.APIStatusError as error:
            note(http_status=error.status_code)
            if is_filter_error(error.body) and error.status_code not in PASSING_STATUSES:
                logger.warning("a content filter stopped a request", extra={"status": error.status_code})
                raise AnswerRefused from error
            if error.status_code in _REFUSALS or (is_streamed(request, dialect) and refuses_streaming(error)):
                raise read_refusal(error) from error
            raise


class _NotAccepted(ModelUnavailable):
    """The provider refused every form of a request."""


def _adapted(dialect: Dialect, refusal: Refusal, tried: Collection[Dialect]) -> Dialect:
    """How the provider is asked next. Raises _NotAccepted if nothing that it refuses can be changed."""
    adapted = adapt(dialect, refusal, tried)
    facts = {"status": refusal.status, "code": refusal.code, "param": refusal.param}
    logger.warning("the provider refused a request", extra=facts | {"adapted": adapted is not None})
    if adapted is None:
        raise _NotAccepted(f"The language model refused the request ({describe_refusal(refusal)}).")
    return adapted


def connect(
    *,
    api_key: Callable[[], str],
    base_url: str | None,
    model: str,
    max_output_tokens: int,
    api: Api | None = None,
    effort: str | None = None,
    event_hooks: Mapping[str, list[Callable[[Any], None]]] | None = None,
) -> ChatModel:
    """The model `model` of an OpenAI-compatible service; `base_url` None is OpenAI itself.

    `api` None starts with the Responses API at OpenAI and Azure, with chat completions elsewhere, and changes where
    the service says so. `effort` (of reasoning) None is low for the Responses API, and not sent with chat completions.
    `api_key` is called at every request; what it raises, a request raises. `event_hooks` are those of the HTTP client.
    """
    mounts = body_stream_mounts(tls_context(), openai.DEFAULT_CONNECTION_LIMITS)
    http = openai.DefaultHttpxClient(verify=tls_context(), event_hooks=event_hooks, mounts=mounts)
    client = openai.OpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
    at_openai = _is_openai(base_url)
    first = api or (Api.RESPONSES if at_openai else Api.CHAT)
    dialect = first_dialect(first, [api] if api else list(Api), model, effort, at_openai=at_openai)
    return ChatModel(client, model=model, max_output_tokens=max_output_tokens, dialect=dialect)


def _is_openai(base_url: str | None) -> bool:
    host = (urlsplit(base_url).hostname or "") if base_url else _OPENAI_HOSTS[0]
    return host.endswith(_OPENAI_HOSTS)
