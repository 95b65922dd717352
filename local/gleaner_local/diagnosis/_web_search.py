"""Checks the web search's service: whether it answers and takes the key."""

from __future__ import annotations

import httpx

from gleaner_local.diagnosis.finding import Finding, Origin, ok, problem, shown

SUBJECT = "web search"
_SECONDS = 5.0
_REFUSED_BODY = (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY)
_REFUSED_KEY = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


def check_web_search(*, base_url: str, api_key: str, origin: Origin) -> Finding:
    """Send an empty request: a service that takes the key refuses it for its body, and charges nothing."""
    where = shown(base_url)
    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        response = httpx.post(f"{base_url.rstrip('/')}/v1/agent", headers=headers, json={}, timeout=_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):  # a key that no header can hold is a ValueError
        return problem(SUBJECT, f"{where} gives no answer.", f"Check {origin.address} and the network.")
    status = response.status_code
    if status in _REFUSED_BODY:
        return ok(SUBJECT, f"{where} takes the key.")
    if status in _REFUSED_KEY:
        remedy = f"Put a valid key into {origin.key}, and check the credit of its account."
        return problem(SUBJECT, f"{where} refuses the key (HTTP {status}).", remedy)
    if status == httpx.codes.NOT_FOUND:
        return problem(SUBJECT, f"{where} has no Agent API.", f"Check {origin.address}: it is without /v1.")
    return problem(SUBJECT, f"{where} answers HTTP {status}.", "Check the credit of the account, or try later.")
