"""Checks the service of the language model: whether it answers, accepts the key and has the model."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

import httpx

from gleaner.clients.time_limit import run_within
from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem, redact_address

SUBJECT = "language model"
_OPENAI = "https://api.openai.com/v1"
_SECONDS = 5.0
_SHOWN_MODELS = 5


def check_model(*, base_url: str | None, api_key: str, model: str, origin: Origin) -> Finding:
    """List the models of an OpenAI-compatible service, which is free; without `base_url` it is OpenAI's own."""
    address = (base_url or _OPENAI).rstrip("/")
    where = redact_address(address)
    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        # Not with the SDK: it raises other errors when the response is not JSON.
        request = partial(httpx.get, f"{address}/models", headers=headers, timeout=_SECONDS)
        response = run_within(_SECONDS, request)  # httpx bounds each read, not their sum
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError):  # ValueError: the key is no header
        return problem(SUBJECT, f"{where} does not answer.", f"Check {origin.address}, and that its server runs.")
    if not response.is_success:
        return _explain_refusal(where, response.status_code, model, origin)
    models = _model_names(response)
    if models is None:
        remedy = f"Check {origin.address}: it must be the base URL of an API like OpenAI's. Most end with /v1."
        return problem(SUBJECT, f"{where} returns no list of models.", remedy)
    if model in models:
        return ok(SUBJECT, f"{where} accepts the key and has {model}.")
    available = ", ".join(models[:_SHOWN_MODELS]) or "none"
    return problem(
        SUBJECT, f"{where} has no model {model}. It has: {available}.", f"Name one of its models in {origin.model}."
    )


def _explain_refusal(where: str, status: int, model: str, origin: Origin) -> Finding:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return problem(SUBJECT, f"{where} rejects the key (HTTP {status}).", f"Put a valid key into {origin.key}.")
        case HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND:
            # A restricted key may not be allowed to list models, and not every compatible server can list them.
            text = f"{where} answers, but lists no models (HTTP {status}), so {model} could not be checked."
            return note(SUBJECT, text, "Ask it with `gleaner doctor --ask`.")
        case HTTPStatus.TOO_MANY_REQUESTS:
            return problem(SUBJECT, f"{where} is over its rate limit or quota.", "Check the account's credit.")
        case _:
            return problem(SUBJECT, f"{where} fails (HTTP {status}).", f"Check {origin.address}, or try later.")


def _model_names(response: httpx.Response) -> list[str] | None:
    """The sorted names of the models; None when the response is not a list of models."""
    try:
        return sorted(str(entry["id"]) for entry in response.json()["data"])
    except (ValueError, KeyError, TypeError):
        return None
