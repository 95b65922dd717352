"""Routes by which MCP clients find out where their users sign in (RFC 9728, RFC 8414, OpenID Connect Discovery).

The authorization server is the user pool, but its own metadata does not say that it supports PKCE, without which MCP
clients must refuse to go on. So this service describes it, and names itself as the issuer: clients compare the issuer
with the address that they fetched the metadata from. They take the tokens as opaque and do not compare theirs.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel

from gleaner.api.request import JSON
from gleaner.api.routes import Endpoint, Route
from gleaner.runtime.authorization import Authorization

Document = TypeVar("Document", bound=BaseModel)

_CACHING = "max-age=300"  # the same for everybody, but new with every deployment


class ProtectedResource(BaseModel):
    """What a client needs to get a token for the MCP server (RFC 9728)."""

    resource: str
    authorization_servers: list[str]
    scopes_supported: list[str]
    bearer_methods_supported: list[str] = ["header"]
    resource_name: str = "Gleaner"


class AuthorizationServer(BaseModel):
    """The endpoints of the user pool and what they support (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    revocation_endpoint: str
    jwks_uri: str
    scopes_supported: list[str]
    response_types_supported: list[str] = ["code"]
    grant_types_supported: list[str] = ["authorization_code", "refresh_token"]
    code_challenge_methods_supported: list[str] = ["S256"]
    token_endpoint_auth_methods_supported: list[str] = ["none"]  # clients are public: they use PKCE, not a secret
    # OpenID Connect Discovery requires the following.
    subject_types_supported: list[str] = ["public"]
    id_token_signing_alg_values_supported: list[str] = ["RS256"]


class AuthorizationRoutes:
    """GET /.well-known/…, where callers are users of a Cognito pool."""

    def __init__(self, authorization: Authorization) -> None:
        self._authorization = authorization

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(Endpoint.PROTECTED_RESOURCE, self._resource),
            Route(Endpoint.PROTECTED_RESOURCE_OF_MCP, self._resource),
            Route(Endpoint.AUTHORIZATION_SERVER, self._server),
            Route(Endpoint.OPENID_CONFIGURATION, self._server),
        ]

    def _resource(self) -> Response[ProtectedResource]:
        authorization = self._authorization
        return _public(
            ProtectedResource(
                resource=authorization.resource,
                authorization_servers=[authorization.api_url],
                scopes_supported=[authorization.scope],
            )
        )

    def _server(self) -> Response[AuthorizationServer]:
        authorization, pool = self._authorization, f"{self._authorization.pool_url}/oauth2"
        return _public(
            AuthorizationServer(
                issuer=authorization.api_url,
                authorization_endpoint=f"{pool}/authorize",
                token_endpoint=f"{pool}/token",
                revocation_endpoint=f"{pool}/revoke",
                jwks_uri=f"{authorization.pool_issuer}/.well-known/jwks.json",
                scopes_supported=[authorization.scope],
            )
        )


def _public(document: Document) -> Response[Document]:
    return Response(HTTPStatus.OK.value, JSON, document, headers={"Cache-Control": _CACHING})
