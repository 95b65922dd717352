"""The language model: OpenAI's Responses API, or chat completions of OpenAI and of compatible providers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from types import ModuleType
from urllib.parse import urlsplit

from gleaner.clients import _chat_completions, _responses
from gleaner.clients._dialect import Api, Dialect, Refusal, adapt, first_dialect, with_schema
from gleaner.clients._json_values import as_object, as_string
from gleaner.clients._model_request import ModelRequest, UnreadableAnswer
from gleaner.clients._openai_sdk import openai
from gleaner.clients._retry_after import parse_retry_after
from gleaner.clients._tls import tls_context
from gleaner.clients.time_limit import run_within
from gleaner.errors import ContextTooLong, DeadlineExceeded, GleanerError, ModelUnavailable
from gleaner.model import ChatMessage, JsonObject, ModelTurn, TokenUsage, ToolSpec
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.runtime.spans import note, span

__all__ = ["Api", "ChatModel", "connect"]

logger = logging.getLogger(__name__)

_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")

_MAX_REQUEST_SECONDS = 300.0  # the deadline is shorter wherever an API Gateway waits
_PASSING_STATUSES = frozenset((408, 409, 429, *range(500, 600)))
# Statuses that refuse this very request; providers choose among them freely.
_REFUSALS = frozenset((400, 404, 405, 413, 422, 501))
_PAUSE_SECONDS = 0.3  # before a retry if the service asks for no wait
_MAX_ERROR_CHARACTERS = 4_000  # of a refusal, that are looked through
_LATE = "The language model did not answer in time."
# How services say that a conversation is too long. There is a code for it, which many do not send.
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")

_CUT_OFF = ("length", "content_filter")  # finish reasons of a reply that did not come to its end

_MODULES: dict[Api, ModuleType] = {Api.RESPONSES: _responses, Api.CHAT: _chat_completions}


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
    ) -> ModelTurn:
        """Ask for the next turn, in which one of the tools named in `callable_tools` must be called.

        The caller checks that the model really called one. Raises ModelUnavailable, ContextTooLong, or
        DeadlineExceeded when the model does not answer in time.
        """
        request = ModelRequest(
            messages=messages,
            tools=tools,
            callable_tools=[tool for tool in tools if tool.name in callable_tools],
            max_output_tokens=self._max_output_tokens,
        )
        tried: set[Dialect] = set()
        wasted = TokenUsage()
        while True:
            dialect = self._dialect
            tried.add(dialect)
            try:
                turn = self._ask_with_retries(request, dialect, deadline)
            except _RequestRefused as refused:
                self._adapt(dialect, refused.refusal, tried)
                continue
            constrained = None if turn.tool_calls or turn.finish_reason in _CUT_OFF else with_schema(dialect)
            if constrained is None or constrained in tried:
                return replace(turn, usage=turn.usage + wasted)
            logger.warning("the model answered in text where a call was due; it is asked for JSON from now on")
            wasted += turn.usage
            self._dialect = constrained

    def _ask_with_retries(self, request: ModelRequest, dialect: Dialect, deadline: Deadline) -> ModelTurn:
        try:
            return with_retries(
                partial(self._ask, request, dialect, deadline),
                retry_after=_retry_after,
                deadline=deadline,
                attempts=self._attempts,
            )
        except openai.OpenAIError as error:
            raise _translated(error) from error

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
        api, seconds = _MODULES[dialect.api], deadline.timeout(_MAX_REQUEST_SECONDS)
        body: JsonObject = {"model": self._model} | api.to_body(request, dialect)
        # By its path: the SDK's methods walk through the body in search of names to translate, of which there are
        # none, for a third of the CPU time of a question.
        post = partial(self._client.post, api.PATH, cast_to=bytes, body=body, options={"timeout": seconds})
        try:
            # The SDK bounds each wait, not their sum: a service that drips could exceed any deadline.
            turn: ModelTurn = api.read_turn(run_within(seconds, post), request, dialect)
        except TimeoutError:
            raise DeadlineExceeded(_LATE) from None
        except openai.APIStatusError as error:
            note(http_status=error.status_code)
            if error.status_code in _REFUSALS:
                raise _refused(error) from error
            raise
        return turn

    def _adapt(self, dialect: Dialect, refusal: Refusal, tried: Collection[Dialect]) -> None:
        """Change how the provider is asked. Raises ModelUnavailable if nothing that it refuses can be changed."""
        if self._dialect not in tried:
            return  # another thread met the same refusal before
        facts = {"status": refusal.status, "code": refusal.code, "param": refusal.param}
        adapted = adapt(dialect, refusal, tried)
        logger.warning("the provider refused a request", extra=facts | {"adapted": adapted is not None})
        if adapted is None:
            raise ModelUnavailable(f"The language model refused the request ({_described(refusal)}).")
        self._dialect = adapted


class _RequestRefused(Exception):
    """The provider does not accept a request of this form."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


def _refused(error: openai.APIStatusError) -> Exception:
    refusal = Refusal(
        status=error.status_code,
        code=str(error.code or ""),  # some services send the status as a number
        param=as_string(error.param),
        message=_message(error.body),
    )
    too_large = refusal.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if too_large or any(phrase in f"{refusal.code} {refusal.text}" for phrase in _TOO_LONG):
        return ContextTooLong("The conversation is too long for the language model.")
    return _RequestRefused(refusal)


def _message(body: object) -> str:
    """What the error says, wherever its body says it: providers send objects of many forms, lists and strings."""
    message = as_object(body).get("message")
    return message if isinstance(message, str) else json.dumps(body, ensure_ascii=False)[:_MAX_ERROR_CHARACTERS]


def _described(refusal: Refusal) -> str:
    """Status, code and parameter: never the message, which may quote the conversation."""
    named = (("code", refusal.code), ("param", refusal.param))
    return ", ".join((str(refusal.status), *(f"{name} {value[:100]}" for name, value in named if value)))


def _retry_after(error: Exception) -> float | None:
    if isinstance(error, UnreadableAnswer):
        return _PAUSE_SECONDS
    if isinstance(error, openai.APITimeoutError):
        return None  # the time of the call is used up; another would use up the rest of the query's
    if isinstance(error, openai.APIConnectionError):
        return 0.0
    if isinstance(error, openai.APIStatusError) and (error.status_code in _PASSING_STATUSES):
        asked = parse_retry_after(error.response.headers)
        return _PAUSE_SECONDS if asked is None else asked
    return None


def _translated(error: openai.OpenAIError) -> GleanerError:
    if isinstance(error, openai.APITimeoutError):
        return DeadlineExceeded(_LATE)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("The language model refused the key.")
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("The language model is over its rate limit.")
    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"The language model failed ({error.status_code}).")
    return ModelUnavailable("The language model could not be reached.")


def connect(
    *,
    api_key: Callable[[], str],
    base_url: str | None,
    model: str,
    max_output_tokens: int,
    api: Api | None = None,
    effort: str | None = None,
) -> ChatModel:
    """The model `model` of an OpenAI-compatible service; `base_url` None is OpenAI itself.

    `api` None starts with the Responses API at OpenAI and Azure, with chat completions elsewhere, and changes where
    the service says so. `effort` (of reasoning) None is low for the Responses API, and not sent with chat completions.
    `api_key` is called at every request; what it raises, a request raises.
    """
    http = openai.DefaultHttpxClient(verify=tls_context())
    client = openai.OpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
    first = api or (Api.RESPONSES if _speaks_responses(base_url) else Api.CHAT)
    dialect = first_dialect(first, [api] if api else list(Api), effort)
    return ChatModel(client, model=model, max_output_tokens=max_output_tokens, dialect=dialect)


def _speaks_responses(base_url: str | None) -> bool:
    host = (urlsplit(base_url).hostname or "") if base_url else _OPENAI_HOSTS[0]
    return host.endswith(_OPENAI_HOSTS)
