"""Checks a service by its HTTP API: whether it is up, takes the key, and describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

import httpx

from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import REFUSED, ApiClient, CallFailed, OutOfReach, json_object
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem, shown

SUBJECT = "API"
_SECONDS = 15.0  # a function that slept takes some


_EXPECTED_REFUSALS = (*REFUSED, HTTPStatus.NOT_FOUND)


def check_api(
    url: str, credentials: Credentials | None = None, *, named: str = "", hint: str = ""
) -> Iterator[Finding]:
    """Ask for its health, the caller's sessions and its description.

    `named` is what the credentials are called in what is said, where "API key" or "token" does not say enough;
    `hint` says how a caller without any would be accepted.
    """
    who = credentials or Credentials()
    client = ApiClient(url, who, timeout=_SECONDS)
    try:
        health = _health(shown(url), client.send("GET", "/api/health"))
        yield health
        if health.state is State.OK:
            sessions = client.send("GET", "/api/sessions", params={"limit": "1"})
            yield _caller(sessions, named or who.describe(), None if who else hint)
            yield _description(client.send("GET", "/openapi.json"))
    except OutOfReach:
        yield problem(SUBJECT, f"Nothing answers at {shown(url)}.", "Check the address, and that the service runs.")
    except CallFailed:
        yield problem(SUBJECT, f"{shown(url)} gives no complete answer.", "Look at the log of the query function.")


def _health(url: str, response: httpx.Response) -> Finding:
    if response.is_success and json_object(response).get("status") == "ok":
        return ok(SUBJECT, f"{url} is up.")
    if response.is_success:
        return problem(SUBJECT, f"What answers at {url} is not Gleaner.", "Check the address, and its stage.")
    seen = f"{url} answers its health check with HTTP {response.status_code}."
    if response.status_code in _EXPECTED_REFUSALS:
        return problem(SUBJECT, seen, "Check the address: behind API Gateway it ends with the stage, such as /dev.")
    return problem(SUBJECT, seen, "Look at the log of the query function.")


def _caller(response: httpx.Response, who: str, hint: str | None) -> Finding:
    """`hint` is None when credentials were sent."""
    status = response.status_code
    if response.is_success:
        return ok(SUBJECT, f"It answers the caller ({who}).")
    if status in REFUSED and hint is not None:
        return note(SUBJECT, f"It wants to know its callers (HTTP {status}), so its answers were not tried.", hint)
    if status in REFUSED:
        remedy = "Use an API key that is enabled and in its usage plan, or a token that has not expired."
        return problem(SUBJECT, f"It refuses the caller ({who}, HTTP {status}).", remedy)
    detail = " ".join(str(json_object(response).get("detail", "")).split())
    seen = f"It answers HTTP {status} to a caller's list of sessions. {detail}".rstrip()
    return problem(SUBJECT, seen, "Look at the log of the query function.")


def _description(response: httpx.Response) -> Finding:
    paths = json_object(response).get("paths")
    if response.is_success and isinstance(paths, dict):
        return ok(SUBJECT, f"/openapi.json describes {len(paths)} paths.")
    if response.status_code in _EXPECTED_REFUSALS:
        return ok(SUBJECT, "It does not serve its description here (DOCS_ROUTES is off).")
    seen = f"It answers HTTP {response.status_code} to /openapi.json."
    return problem(SUBJECT, seen, "Look at the log of the query function.")
