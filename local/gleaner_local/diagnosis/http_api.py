"""Checks a service by its HTTP API: whether it is up, takes the key, and describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import httpx

from gleaner_local.api_client import ApiClient, CallFailed, OutOfReach
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem, shown

SUBJECT = "API"
_SECONDS = 15.0  # a function that slept takes some
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def check_api(
    url: str, *, api_key: str | None = None, key_name: str = "without a key", hint: str = ""
) -> Iterator[Finding]:
    """Ask for its health, the caller's sessions and its description.

    `key_name` names `api_key` in what is said; `hint` says how a caller without one would be accepted.
    """
    client = ApiClient(url, Path(), caller=api_key, timeout=_SECONDS)
    try:
        health = _health(shown(url), client.send("GET", "/api/health"))
        yield health
        if health.state is State.OK:
            yield _caller(
                client.send("GET", "/api/sessions", params={"limit": "1"}), key_name, hint if api_key is None else None
            )
            yield _description(client.send("GET", "/openapi.json"))
    except OutOfReach:
        yield problem(SUBJECT, f"Nothing answers at {shown(url)}.", "Check the address, and that the service runs.")
    except CallFailed:
        yield problem(SUBJECT, f"{shown(url)} gives no complete answer.", "Look at the log of the query function.")


def _health(url: str, response: httpx.Response) -> Finding:
    if response.is_success and _json(response).get("status") == "ok":
        return ok(SUBJECT, f"{url} is up.")
    if response.is_success:
        return problem(SUBJECT, f"What answers at {url} is not Gleaner.", "Check the address, and its stage.")
    seen = f"{url} answers its health check with HTTP {response.status_code}."
    if response.status_code in (*_REFUSED, HTTPStatus.NOT_FOUND):
        return problem(SUBJECT, seen, "Check the address: behind API Gateway it ends with the stage, such as /dev.")
    return problem(SUBJECT, seen, "Look at the log of the query function.")


def _caller(response: httpx.Response, key_name: str, hint: str | None) -> Finding:
    """`hint` is None when a key was sent."""
    status = response.status_code
    if response.is_success:
        return ok(SUBJECT, f"It answers the caller ({key_name}).")
    if status in _REFUSED and hint is not None:
        return note(SUBJECT, f"It wants to know its callers (HTTP {status}), so its answers were not tried.", hint)
    if status in _REFUSED:
        seen = f"It refuses the key (HTTP {status})."
        return problem(SUBJECT, seen, "Use a key that is enabled and belongs to its usage plan.")
    detail = " ".join(str(_json(response).get("detail", "")).split())
    seen = f"It answers HTTP {status} to a caller's list of sessions. {detail}".rstrip()
    return problem(SUBJECT, seen, "Look at the log of the query function.")


def _description(response: httpx.Response) -> Finding:
    paths = _json(response).get("paths")
    if response.is_success and isinstance(paths, dict):
        return ok(SUBJECT, f"/openapi.json describes {len(paths)} paths.")
    return ok(SUBJECT, "It does not serve its description here (DOCS_ROUTES is off).")


def _json(response: httpx.Response) -> dict[str, object]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
