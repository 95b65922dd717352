"""Checks the web search service: whether it answers and accepts the key."""

from __future__ import annotations

from functools import partial

import httpx

from gleaner.clients.time_limit import run_within
from gleaner_local.diagnosis.finding import Finding, Origin, ok, problem, redact_address

SUBJECT = "web search"
_SECONDS = 5.0
_REJECTED_BODY = (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY)
_REJECTED_KEY = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


def check_web_search(*, base_url: str, api_key: str, origin: Origin) -> Finding:
    """Send an empty request: a service that accepts the key rejects the body, and charges nothing."""
    where = redact_address(base_url)
    headers = {"Authorization": f"Bearer {api_key}"}
    try:
        url = f"{base_url.rstrip('/')}/v1/agent"
        request = partial(httpx.post, url, headers=headers, json={}, timeout=_SECONDS)
        response = run_within(_SECONDS, request)  # httpx bounds each read, not their sum
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        TimeoutError,
    ):  # ValueError: the key does not fit into a header
        return problem(SUBJECT, f"{where} does not answer.", f"Check {origin.address} and the network.")
    status = response.status_code
    if status in _REJECTED_BODY:
        return ok(SUBJECT, f"{where} accepts the key.")
    if status in _REJECTED_KEY:
        remedy = f"Put a valid key into {origin.key}, and check its account's credit."
        return problem(SUBJECT, f"{where} rejects the key (HTTP {status}).", remedy)
    if status == httpx.codes.NOT_FOUND:
        return problem(SUBJECT, f"{where} has no Agent API.", f"Check {origin.address}: it must not end with /v1.")
    return problem(SUBJECT, f"{where} answers with HTTP {status}.", "Check the account's credit, or try later.")
