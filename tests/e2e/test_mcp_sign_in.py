"""The official MCP client signs a user in at a deployed stage and a user pool, given the server's address alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest

from gleaner.runtime.authorization import Authorization, read_authorization
from gleaner_local.servers.asgi import AsgiServer
from infra.callbacks import MCP_CALLBACK_URLS
from tests.conftest import Client, make_api
from tests.doubles.guarded_api import STAGE, GuardedApi
from tests.doubles.user_pool import CLIENT_ID, SUB, UserPool
from tests.real_clients.environment import require_clients, run_python

pytestmark = pytest.mark.slow

CALLBACK = MCP_CALLBACK_URLS[0]


@dataclass(frozen=True, slots=True)
class Service:
    """A deployed stage, and the pool of its users."""

    authorization: Authorization
    api: GuardedApi
    pool: UserPool


@pytest.fixture
def service(settings: dict[str, str]) -> Iterator[Service]:
    pool = UserPool(urls=(CALLBACK,))
    pool_server = AsgiServer(pool.app)
    pool_server.start()

    def admit(headers: dict[str, str]) -> dict[str, Any] | None:
        claims = pool.access_claims(headers.get("authorization", "").removeprefix("Bearer "))
        return claims and {"authorizer": {"claims": claims}}

    def handle(event: dict[str, Any]) -> dict[str, Any]:
        return client.send(event)

    api = GuardedApi(handle, admit, refusal=HTTPStatus.UNAUTHORIZED)
    server = AsgiServer(api.app)
    server.start()
    addresses = {"API_URL": f"{server.url}/{STAGE}", "USER_POOL_URL": pool_server.url}
    client = Client(make_api(settings | addresses))
    authorization = read_authorization(settings | addresses)
    assert authorization is not None
    metadata = f"{authorization.api_url}/.well-known/oauth-protected-resource"
    api.headers_of_refusals["WWW-Authenticate"] = (
        f'Bearer resource_metadata="{metadata}", scope="{authorization.scope}"'
    )
    pool.scope = authorization.scope
    yield Service(authorization, api, pool)
    server.stop()
    pool_server.stop()


def sign_in(service: Service) -> Any:
    """What the client asked for, and what it got."""
    require_clients()
    task = {"url": service.authorization.resource, "client_id": CLIENT_ID, "callback": CALLBACK}
    return run_python("sign_in_mcp.py", json.dumps(task))


def test_the_official_client_gets_a_token_for_the_mcp_server_and_uses_it(service: Service) -> None:
    seen = sign_in(service)
    assert seen["asked"]["scope"] == seen["scope"] == service.authorization.scope
    assert seen["asked"]["resource"] == service.authorization.resource  # RFC 8707
    assert seen["asked"]["code_challenge_method"] == "S256"
    assert {"ask", "search"} <= set(seen["tools"])
    assert {caller["authorizer"]["claims"]["sub"] for caller in service.api.callers} == {SUB}
    # The host's root cannot be served: the client found the metadata by the refusal, and the issuer's below the stage.
    assert service.api.requests[f"/{STAGE}/.well-known/oauth-protected-resource"] == 1
    assert service.api.requests[f"/{STAGE}/.well-known/openid-configuration"] == 1
    assert service.api.requests[f"/.well-known/oauth-authorization-server/{STAGE}"] == 1


def test_a_pool_that_writes_no_audience_serves_the_client_as_well(service: Service) -> None:
    """As pools of the Lite plan do, or a client without RFC 8707: API Gateway checks the scope."""
    service.pool.binds_resources = False
    assert sign_in(service)["tools"]
