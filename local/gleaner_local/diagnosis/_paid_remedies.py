"""What to set when the model's service refuses a call, and amounts of money in words."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus

from gleaner_local.diagnosis._http_log import Exchange
from gleaner_local.diagnosis.finding import Origin

# Each is filled in with the fields of an Origin.
_BY_STATUS = {
    HTTPStatus.UNAUTHORIZED: "Put a valid key into {key}.",
    HTTPStatus.FORBIDDEN: "Put a key into {key} that may use the model in {model}.",
    HTTPStatus.PAYMENT_REQUIRED: "Check the account's credit.",
    HTTPStatus.TOO_MANY_REQUESTS: "Check the account's credit and its rate limits.",
}
_BY_NAME = (  # that is part of the error's code or parameter
    (("model", "deployment"), "Name one of the service's models in {model}."),
    (("effort", "reasoning"), "Set {effort} to a value that the model accepts."),
    (("tool", "function"), "Choose a model that calls tools in {model}."),
)
_FAILED = "Try again later; if it keeps failing, check {address}."
_UNKNOWN_ROUTE = (
    "Check {address}, which must be the base URL of an API like OpenAI's (most end with /v1), {api}, and the model's "
    "name in {model}."
)
_OTHER = "Try another value of {api} or {effort}, or another model in {model}."


def find_remedy(refusal: Exchange, origin: Origin) -> str:
    """What to do about a refused call of the language model."""
    return _find_template(refusal).format(**asdict(origin))


def _find_template(refusal: Exchange) -> str:
    status, names = refusal.meant_status, f"{refusal.code} {refusal.param}".lower()
    if status in _BY_STATUS:
        return _BY_STATUS[HTTPStatus(status)]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _FAILED
    named = (template for words, template in _BY_NAME if any(word in names for word in words))
    is_route = status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
    return next(named, _UNKNOWN_ROUTE if is_route else _OTHER)


def usd(amount: float) -> str:
    """An amount to a millionth of a dollar, without zeros at its end."""
    digits = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{digits} USD"
