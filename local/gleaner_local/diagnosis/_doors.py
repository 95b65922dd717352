"""Checks `/v1` and `/mcp`: that their clients' credentials are accepted, and that MCP clients find where to sign in."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httpx

from gleaner.api.routes import Endpoint
from gleaner.runtime.authorization import Authorization
from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import json_object
from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "doors"
_SECONDS = 15.0  # allows for a cold start
_PKCE = "S256"
_MCP = Endpoint.MCP.path
_RESOURCE, _ISSUER = Endpoint.PROTECTED_RESOURCE.path, Endpoint.OPENID_CONFIGURATION.path


def check_doors(
    url: str, credentials: Credentials, authorization: Authorization | None, *, fix: str
) -> Iterator[Finding]:
    """Knock without credentials, with `credentials`, and read what MCP clients read about `authorization`."""
    try:
        with httpx.Client(base_url=url.rstrip("/"), timeout=_SECONDS) as client:
            yield _judge_refusal(client.post(_MCP, json={}), authorization, fix)
            if credentials:
                headers = credentials.headers() | credentials.bearer_header()
                yield _judge_access(client.get(Endpoint.LIST_MODELS.path, headers=headers))
            if authorization is not None:
                resource, server = (json_object(client.get(path)) for path in (_RESOURCE, _ISSUER))
                yield _judge_metadata(resource, server, authorization, fix)
    except httpx.HTTPError as error:
        yield problem(SUBJECT, f"They give no complete answer ({type(error).__name__}).", "Look at the access log.")


def _judge_refusal(response: httpx.Response, authorization: Authorization | None, fix: str) -> Finding:
    challenge = response.headers.get("www-authenticate", "")
    wanted = f'resource_metadata="{authorization.api_url}{_RESOURCE}"' if authorization else "Bearer"
    if response.status_code == HTTPStatus.UNAUTHORIZED and challenge.startswith("Bearer") and wanted in challenge:
        return ok(SUBJECT, f"{_MCP} refuses a request without credentials, and says which it wants.")
    text = f"{_MCP} answers a request without credentials with HTTP {response.status_code} and {challenge!r}."
    return problem(SUBJECT, text, f"It must be 401 with {wanted}: {fix}")


def _judge_access(response: httpx.Response) -> Finding:
    path = Endpoint.LIST_MODELS.path
    if response.is_success:
        return ok(SUBJECT, f"{path} accepts the credentials as bearer token.")
    text = f"{path} answers a bearer token with HTTP {response.status_code}."
    return problem(SUBJECT, text, "Use an enabled API key of the usage plan, or a token that has not expired.")


def _judge_metadata(
    resource: dict[str, Any], server: dict[str, Any], authorization: Authorization, fix: str
) -> Finding:
    is_found = resource.get("resource") == authorization.resource
    is_found = is_found and resource.get("authorization_servers") == [server.get("issuer")] == [authorization.api_url]
    if is_found and _PKCE in server.get("code_challenge_methods_supported", ()):
        return ok(SUBJECT, f"MCP clients find out that users sign in at {authorization.pool_url}.")
    return problem(SUBJECT, f"{_RESOURCE} and {_ISSUER} do not say where users sign in.", fix)
