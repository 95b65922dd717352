"""Checks the language model's service: whether it answers, takes the key, and has the model."""

from __future__ import annotations

import openai
from openai.pagination import SyncPage

from gleaner.clients.time_limit import run_within
from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem, shown

SUBJECT = "language model"
OPENAI = "https://api.openai.com/v1"
_SECONDS = 8.0
_SHOWN_MODELS = 5


def check_model(*, base_url: str | None, api_key: str, model: str, origin: Origin) -> Finding:
    """List the models, which costs nothing, at an OpenAI-compatible service; `base_url` None is OpenAI's own."""
    address = base_url or OPENAI  # named here, since the SDK would take another from the environment
    where = shown(address)
    try:
        client = openai.OpenAI(api_key=api_key, base_url=address, max_retries=0, timeout=_SECONDS)
        page = run_within(_SECONDS, client.models.list)
    except openai.APIStatusError as error:
        return _refused(where, error.status_code, model, origin)
    except (openai.OpenAIError, TimeoutError, ValueError):  # a key that no header can hold is a ValueError
        return problem(SUBJECT, f"{where} gives no answer.", f"Check {origin.address}, and that its server runs.")
    # The SDK does not validate answers: some page may come under status 200.
    if not isinstance(page, SyncPage) or not isinstance(page.data, list):
        return problem(SUBJECT, f"{where} gives no list of models.", f"Check {origin.address}: it ends with /v1.")
    return _judged(where, sorted(str(entry.id) for entry in page.data), model, origin)


def _refused(where: str, status: int, model: str, origin: Origin) -> Finding:
    if status == openai.AuthenticationError.status_code:
        return problem(SUBJECT, f"{where} refuses the key (HTTP {status}).", f"Put a valid key into {origin.key}.")
    if status in (openai.PermissionDeniedError.status_code, openai.NotFoundError.status_code):
        # A restricted key need not be allowed the list, and not every compatible server has one.
        seen = f"{where} answers, but lists no models (HTTP {status}): whether it has {model} is not known."
        return note(SUBJECT, seen, "Ask a question to find out.")
    if status == openai.RateLimitError.status_code:
        return problem(SUBJECT, f"{where} is over its rate limit or quota.", "Check the credit of the account.")
    return problem(SUBJECT, f"{where} fails (HTTP {status}).", f"Check {origin.address}, or try later.")


def _judged(where: str, models: list[str], model: str, origin: Origin) -> Finding:
    if model in models:
        return ok(SUBJECT, f"{where} takes the key and has {model}.")
    some = ", ".join(models[:_SHOWN_MODELS]) or "none"
    return problem(
        SUBJECT, f"{where} has no model {model}. It has: {some}.", f"Name one that it has in {origin.model}."
    )
