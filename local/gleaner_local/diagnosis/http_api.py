"""Checks a service over its HTTP API: whether it is up, accepts the caller and describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

import httpx

from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import REFUSED, ApiClient, CallFailed, OutOfReach, json_object
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem, redact_address

SUBJECT = "API"
_SECONDS = 15.0  # allows for a cold start
_EXPECTED_REFUSALS = (*REFUSED, HTTPStatus.NOT_FOUND)


def check_api(
    url: str, credentials: Credentials | None = None, *, caller: str = "", hint: str = ""
) -> Iterator[Finding]:
    """Request the health check, the caller's sessions and the OpenAPI document.

    `caller` names the credentials in findings, in place of "API key" or "token"; `hint` says how a caller without
    credentials would be accepted.
    """
    identity, where = credentials or Credentials(), redact_address(url)
    client = ApiClient(url, identity, timeout=_SECONDS)
    try:
        health = _judge_health(where, client.send("GET", "/api/health"))
        yield health
        if health.state is State.OK:
            sessions = client.send("GET", "/api/sessions", params={"limit": "1"})
            yield _judge_access(sessions, caller or identity.describe(), None if identity else hint)
            yield _judge_description(client.send("GET", "/openapi.json"))
    except OutOfReach:
        yield problem(SUBJECT, f"Nothing answers at {where}.", "Check the address, and that the service runs.")
    except CallFailed:
        yield problem(SUBJECT, f"{where} does not answer completely.", "Look at the log of the query function.")


def _judge_health(url: str, response: httpx.Response) -> Finding:
    if response.is_success and json_object(response).get("status") == "ok":
        return ok(SUBJECT, f"{url} is up.")
    if response.is_success:
        return problem(SUBJECT, f"What answers at {url} is not Gleaner.", "Check the address and its stage.")
    text = f"{url} answers its health check with HTTP {response.status_code}."
    if response.status_code in _EXPECTED_REFUSALS:
        return problem(SUBJECT, text, "Check the address: behind API Gateway it must end with the stage, such as /dev.")
    return problem(SUBJECT, text, "Look at the log of the query function.")


def _judge_access(response: httpx.Response, caller: str, hint: str | None) -> Finding:
    """`hint` is None when credentials were sent."""
    status = response.status_code
    if response.is_success:
        return ok(SUBJECT, f"It accepts the caller ({caller}).")
    if status in REFUSED and hint is not None:
        return note(SUBJECT, f"It requires credentials (HTTP {status}), so its answers were not checked.", hint)
    if status in REFUSED:
        remedy = "Use an enabled API key of the usage plan, or a token that has not expired."
        return problem(SUBJECT, f"It rejects the caller ({caller}, HTTP {status}).", remedy)
    detail = " ".join(str(json_object(response).get("detail", "")).split())
    text = f"It answers the list of sessions with HTTP {status}. {detail}".rstrip()
    return problem(SUBJECT, text, "Look at the log of the query function.")


def _judge_description(response: httpx.Response) -> Finding:
    paths = json_object(response).get("paths")
    if response.is_success and isinstance(paths, dict):
        return ok(SUBJECT, f"/openapi.json describes {len(paths)} paths.")
    if response.status_code in _EXPECTED_REFUSALS:
        return ok(SUBJECT, "It does not serve its OpenAPI document here (DOCS_ROUTES is off).")
    text = f"It answers /openapi.json with HTTP {response.status_code}."
    return problem(SUBJECT, text, "Look at the log of the query function.")
