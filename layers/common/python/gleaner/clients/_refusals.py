"""Reads what a provider says of a request that it refuses."""

from __future__ import annotations

import json
from http import HTTPStatus

from gleaner.clients._adaptation import Refusal
from gleaner.clients._json_values import as_object, as_string
from gleaner.clients._openai_sdk import openai
from gleaner.errors import ContextTooLong

# How services say that a conversation is too long. There is a code for it, which many do not send.
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")
_MAX_ERROR_CHARACTERS = 4_000  # of a refusal, that are looked through


class RequestRefused(Exception):
    """The provider does not accept a request of this form."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


def read_refusal(error: openai.APIStatusError) -> Exception:
    """The error that a refused request means: RequestRefused, or ContextTooLong."""
    refusal = Refusal(
        status=error.status_code,
        code=str(error.code or ""),  # some services send the status as a number
        param=as_string(error.param),
        message=_message(error.body),
    )
    too_large = refusal.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    too_long = any(phrase in f"{refusal.code} {refusal.text}" for phrase in _TOO_LONG)
    if too_large or (too_long and not refusal.reserves_too_much):
        return ContextTooLong("The conversation is too long for the language model.")
    return RequestRefused(refusal)


def _message(body: object) -> str:
    """What the error says, wherever its body says it: providers send objects of many forms, lists and strings."""
    message = as_object(body).get("message")
    return message if isinstance(message, str) else json.dumps(body, ensure_ascii=False)[:_MAX_ERROR_CHARACTERS]


def describe_refusal(refusal: Refusal) -> str:
    """Status, code and parameter: never the message, which may quote the conversation."""
    named = (("code", refusal.code), ("param", refusal.param))
    return ", ".join((str(refusal.status), *(f"{name} {value[:100]}" for name, value in named if value)))
