"""What MCP clients learn about signing in, as the RFCs and the checks of the official clients require it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from gleaner.errors import ConfigurationError
from gleaner.runtime.authorization import read_authorization
from gleaner_local.aws.execution_environment import LocalContext
from tests.conftest import Client, make_api, proxy_event

API_URL = "https://api.example/dev"  # of the settings that the tests share
POOL = {"USER_POOL_URL": "https://login.example", "USER_POOL_ISSUER": "https://pool.example/eu-central-1_abc"}
RESOURCE = "/.well-known/oauth-protected-resource"
SERVERS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


def fetch(client: Client, path: str) -> dict[str, Any]:
    """The document at a path, which needs no caller."""
    event = proxy_event("GET", path, "x")
    event["requestContext"]["identity"] = {}
    response = client.send(event)
    assert response["statusCode"] == 200
    assert response["multiValueHeaders"]["Content-Type"] == ["application/json"]
    assert response["multiValueHeaders"]["Cache-Control"] == ["max-age=300"]
    document: dict[str, Any] = json.loads(response["body"])
    return document


@pytest.mark.parametrize("path", [RESOURCE, f"{RESOURCE}/mcp"])
def test_the_resource_is_the_mcp_server_at_its_own_address(client: Client, path: str) -> None:
    assert fetch(client, path) == {
        "resource": f"{API_URL}/mcp",
        "authorization_servers": [API_URL],
        "scopes_supported": [f"{API_URL}/mcp/ask"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Gleaner",
    }


@pytest.mark.parametrize("path", SERVERS)
def test_the_issuer_is_the_address_by_which_clients_find_the_metadata(client: Client, path: str) -> None:
    server = fetch(client, path)
    # RFC 8414, section 3.3: identical to the address into which the well-known path was inserted.
    assert [server["issuer"]] == fetch(client, RESOURCE)["authorization_servers"]
    assert server["scopes_supported"] == fetch(client, RESOURCE)["scopes_supported"]


@pytest.mark.parametrize("path", SERVERS)
def test_the_endpoints_are_the_pools_and_pkce_is_announced(client: Client, path: str) -> None:
    server = fetch(client, path)
    assert server["authorization_endpoint"] == "https://login.example/oauth2/authorize"
    assert server["token_endpoint"] == "https://login.example/oauth2/token"
    assert server["revocation_endpoint"] == "https://login.example/oauth2/revoke"
    assert server["jwks_uri"].endswith("amazonaws.com/eu-central-1_abc/.well-known/jwks.json")
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    # Cognito registers no clients, and sends no `iss` back: a client that reads either here would wait for it.
    assert not {"registration_endpoint", "authorization_response_iss_parameter_supported"} & server.keys()


@pytest.mark.parametrize("path", [RESOURCE, f"{RESOURCE}/mcp", *SERVERS])
def test_there_is_no_metadata_where_callers_are_not_users_of_a_pool(settings: dict[str, str], path: str) -> None:
    of_pool = ("API_URL", "USER_POOL_URL", "USER_POOL_ISSUER")
    others = {name: value for name, value in settings.items() if name not in of_pool}
    context: Any = LocalContext("query", "r", ends_at=time.monotonic() + 60)
    response = make_api(others).handle(proxy_event("GET", path, "x"), context)
    assert (response["statusCode"], json.loads(response["body"])["type"]) == (404, "urn:gleaner:problem:not-found")


def test_a_service_at_the_root_of_a_domain_has_an_issuer_without_a_path() -> None:
    authorization = read_authorization(POOL | {"API_URL": "https://ask.example.org"})
    assert authorization is not None
    assert (authorization.resource, authorization.scope) == (
        "https://ask.example.org/mcp",
        "https://ask.example.org/mcp/ask",
    )


@pytest.mark.parametrize(
    "env",
    [
        POOL,
        {"API_URL": API_URL},
        POOL | {"API_URL": f"{API_URL}/"},
        POOL | {"API_URL": API_URL, "USER_POOL_URL": "https://login.example/"},
        POOL | {"API_URL": API_URL, "USER_POOL_ISSUER": "pool.example"},
    ],
)
def test_incomplete_or_ambiguous_addresses_are_refused(env: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="USER_POOL"):
        read_authorization(env)
