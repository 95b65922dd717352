"""Checks the language model's service: whether it answers, takes the key, and has the model."""

from __future__ import annotations

from http import HTTPStatus

import httpx

from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem, shown

SUBJECT = "language model"
_OPENAI = "https://api.openai.com/v1"
_SECONDS = 5.0
_SHOWN_MODELS = 5


def check_model(*, base_url: str | None, api_key: str, model: str, origin: Origin) -> Finding:
    """List the models, which costs nothing, at an OpenAI-compatible service; `base_url` None is OpenAI's own."""
    address = (base_url or _OPENAI).rstrip("/")
    where = shown(address)
    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        # Not by the SDK, which fails in its own way on a page that is no JSON.
        response = httpx.get(f"{address}/models", headers=headers, timeout=_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):  # a key that no header can hold is a ValueError
        return problem(SUBJECT, f"{where} gives no answer.", f"Check {origin.address}, and that its server runs.")
    if not response.is_success:
        return _refused(where, response.status_code, model, origin)
    models = _models(response)
    if models is None:
        return problem(SUBJECT, f"{where} gives no list of models.", f"Check {origin.address}: it ends with /v1.")
    if model in models:
        return ok(SUBJECT, f"{where} takes the key and has {model}.")
    some = ", ".join(models[:_SHOWN_MODELS]) or "none"
    return problem(
        SUBJECT, f"{where} has no model {model}. It has: {some}.", f"Name one that it has in {origin.model}."
    )


def _refused(where: str, status: int, model: str, origin: Origin) -> Finding:
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return problem(SUBJECT, f"{where} refuses the key (HTTP {status}).", f"Put a valid key into {origin.key}.")
        case HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND:
            # A restricted key need not be allowed the list, and not every compatible server has one.
            seen = f"{where} answers, but lists no models (HTTP {status}): whether it has {model} is not known."
            return note(SUBJECT, seen, "Ask a question to find out.")
        case HTTPStatus.TOO_MANY_REQUESTS:
            return problem(SUBJECT, f"{where} is over its rate limit or quota.", "Check the credit of the account.")
        case _:
            return problem(SUBJECT, f"{where} fails (HTTP {status}).", f"Check {origin.address}, or try later.")


def _models(response: httpx.Response) -> list[str] | None:
    """The names of the models in a list, sorted; None when the response is no list."""
    try:
        return sorted(str(entry["id"]) for entry in response.json()["data"])
    except (ValueError, KeyError, TypeError):
        return None
