"""Reads how a request to a model failed: what a provider refuses, what may be retried, and what callers are told."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from gleaner.clients._adaptation import Refusal
from gleaner.clients._json_values import as_object
from gleaner.clients._model_request import UnreadableAnswer
from gleaner.clients._openai_sdk import openai
from gleaner.clients._retry_after import parse_retry_after
from gleaner.errors import ContextTooLong, DeadlineExceeded, GleanerError, ModelUnavailable
from gleaner.guards.redaction import redact

# How services say that a conversation is too long. There is a code for it, which many do not send.
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")
PASSING_STATUSES = frozenset((408, 409, 429, *range(500, 600)))
_PAUSE_SECONDS = 0.3  # before a retry if the service asks for no wait
TIMED_OUT = "The language model did not answer in time."
_MAX_IDENTIFIER_CHARS = 100
_IDENTIFIER = re.compile(r"[\w.\[\]-]*")
_MAX_ERROR_CHARACTERS = 4_000  # of a refusal, that are looked through


class RequestRefused(Exception):
    """The provider does not accept a request of this form."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


def read_refusal(error: openai.APIStatusError) -> Exception:
    """The error that a refused request means: RequestRefused, or ContextTooLong."""
    refusal = _to_refusal(error)
    too_large = refusal.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    too_long = any(phrase in f"{refusal.code} {refusal.text}" for phrase in _TOO_LONG)
    if too_large or (too_long and not refusal.reserves_too_much):
        return ContextTooLong("The conversation is too long for the language model.")
    return RequestRefused(refusal)


def refuses_streaming(error: openai.APIStatusError) -> bool:
    """Whether a request failed because it asked for a stream; some servers say so by a status of their own faults."""
    return _to_refusal(error).is_about_streaming


def _to_refusal(error: openai.APIStatusError) -> Refusal:
    return Refusal(
        status=error.status_code,
        code=_identifier(error.code),
        param=_identifier(error.param),
        message=_message(error.body),
    )


def _identifier(value: object) -> str:
    """A code or the name of a parameter, redacted; empty for what is neither. Some services send codes as numbers."""
    text = redact(str(value)[:_MAX_IDENTIFIER_CHARS]) if isinstance(value, str | int) else ""
    return text if _IDENTIFIER.fullmatch(text) else ""


def _message(body: object) -> str:
    """What the error says, wherever its body says it: providers send objects of many forms, lists and strings.

    OpenRouter's own message is "Provider returned error"; what the provider said is in `metadata.raw`.
    """
    message, raw = as_object(body).get("message"), as_object(as_object(body).get("metadata")).get("raw")
    text = message if isinstance(message, str) else json.dumps(body, ensure_ascii=False)
    if isinstance(raw, str):
        text = f"{text} {raw}"
    return text[:_MAX_ERROR_CHARACTERS]


def describe_refusal(refusal: Refusal) -> str:
    """Status, code and parameter: never the message, which may quote the conversation."""
    named = (("code", refusal.code), ("param", refusal.param))
    return ", ".join((str(refusal.status), *(f"{name} {value}" for name, value in named if value)))


def read_retry_delay(error: Exception) -> float | None:
    """Seconds to wait before a retry; None if the error is final."""
    if isinstance(error, UnreadableAnswer):
        return _PAUSE_SECONDS
    if isinstance(error, openai.APITimeoutError):
        return None  # the time of the call is used up; another would use up the rest of the query's
    if isinstance(error, openai.APIConnectionError):
        return 0.0
    if isinstance(error, openai.APIStatusError) and (error.status_code in PASSING_STATUSES):
        asked = parse_retry_after(error.response.headers)
        return _PAUSE_SECONDS if asked is None else asked
    return None


def translate_error(error: openai.OpenAIError) -> GleanerError:
    """The error of this service for one of the SDK, without any text of the provider."""
    if isinstance(error, openai.APITimeoutError):
        return DeadlineExceeded(TIMED_OUT)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("The language model refused the key.")
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("The language model is over its rate limit.")
    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"The language model failed ({error.status_code}).")
    return ModelUnavailable("The language model could not be reached.")
