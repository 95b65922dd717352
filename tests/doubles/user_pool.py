"""The sign-in pages and token endpoint of a Cognito user pool, for one user and one public client.

Behaves as the developer guide of Amazon Cognito says in "The redirect and authorization endpoint", "The token issuer
endpoint", "The managed login sign-out endpoint", "The token revocation endpoint", "Refresh tokens" (rotation),
"Using PKCE in authorization code grants", "Resource binding" and "Understanding the access token".
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT_ID = "1example23456789"
EMAIL = "zoë@example.org"
SUB = "aaaabbbb-cccc-dddd-eeee-ffffffffffff"
_FORM = "application/x-www-form-urlencoded"
_READABLE = {"Access-Control-Allow-Origin": "*"}  # the token endpoint's; the pool has no other CORS headers


@dataclass
class UserPool:
    """One pool. `urls` are the client's callback and sign-out addresses; the rest is for tests to set and to read."""

    urls: tuple[str, ...] = ()
    lifetime: int = 3600  # of an ID token, in seconds
    denies: bool = False  # sends the user back with an error instead of a code
    changes_nonce: bool = False
    scope: str = "openid email"  # that the client may ask for
    binds_resources: bool = True  # writes the requested resource into access tokens, which the Lite plan does not
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _grants: dict[str, dict[str, str]] = field(default_factory=dict)  # by code, until it is used
    _refresh_tokens: dict[str, dict[str, str]] = field(default_factory=dict)  # the grant by token
    _id_tokens: dict[str, float] = field(default_factory=dict)  # when each expires
    _access_tokens: dict[str, dict[str, Any]] = field(default_factory=dict)  # the claims of each

    @property
    def app(self) -> Starlette:
        """The pool's domain."""
        return Starlette(
            routes=[
                Route("/oauth2/authorize", self._authorize),
                Route("/login", self._login, methods=["GET", "POST"]),
                Route("/oauth2/token", self._token, methods=["POST"]),
                Route("/oauth2/revoke", self._revoke, methods=["POST"]),
                Route("/logout", self._logout),
            ]
        )

    def paths(self) -> list[str]:
        """The paths that were requested, in order."""
        return [path for path, _ in self.requests]

    def claims(self, token: str) -> dict[str, Any] | None:
        """The claims that the authorizer of an API hands on; None for a token that it does not accept."""
        if self._id_tokens.get(token, 0) < time.time():
            return None
        return {"sub": SUB, "email": EMAIL, "token_use": "id"}

    def access_claims(self, token: str) -> dict[str, Any] | None:
        """The claims that the authorizer of a method with scopes hands on; None for a token that it does not accept."""
        claims = self._access_tokens.get(token)
        return claims if claims is not None and claims["scope"] == self.scope else None

    def end_sessions(self) -> None:
        """Sign the user out everywhere, as an administrator may."""
        self._refresh_tokens.clear()

    def disown_tokens(self) -> None:
        """Accept none of the ID tokens that were issued, as if the clocks differed."""
        self._id_tokens.clear()

    async def _authorize(self, request: Request) -> Response:
        query = self._note(request, dict(request.query_params))
        if query["client_id"] != CLIENT_ID or query["redirect_uri"] not in self.urls:
            return RedirectResponse("/error?error=redirect_mismatch", HTTPStatus.FOUND)  # never to an unknown address
        known = {"response_type": "code", "code_challenge_method": "S256", "scope": self.scope}
        if known.items() > query.items() or len(query.get("code_challenge", "")) != 43:
            return RedirectResponse(f"{query['redirect_uri']}?error=invalid_request", HTTPStatus.FOUND)
        return RedirectResponse(f"/login?{urlencode(query)}", HTTPStatus.FOUND)

    async def _login(self, request: Request) -> Response:
        if request.method == "GET":
            action = escape(f"/login?{request.url.query}")
            return HTMLResponse(f'<form method="post" action="{action}"><button>Log in as {EMAIL}</button></form>')
        query = dict(request.query_params)
        code = secrets.token_urlsafe(24)
        self._grants[code] = query
        answer = {"error": "access_denied"} if self.denies else {"code": code}
        answer["state"] = query["state"]
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(answer)}", HTTPStatus.FOUND)

    async def _token(self, request: Request) -> Response:
        form = await self._form(request)
        if form.get("client_id") != CLIENT_ID or request.headers["content-type"] != _FORM:
            return self._refuse("invalid_client")
        if form["grant_type"] == "authorization_code":
            return self._redeem(form)
        grant = self._refresh_tokens.pop(form["refresh_token"], None)  # rotation: each is good for one renewal
        return self._refuse("invalid_grant") if grant is None else self._issue(grant)

    def _redeem(self, form: dict[str, str]) -> Response:
        grant = self._grants.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if grant is None or grant["code_challenge"] != challenge or grant["redirect_uri"] != form["redirect_uri"]:
            return self._refuse("invalid_grant")
        return self._issue(grant | ({"nonce": "another"} if self.changes_nonce else {}))

    def _issue(self, grant: dict[str, str]) -> Response:
        now = int(time.time())
        both = {"sub": SUB, "iat": now, "exp": now + self.lifetime, "jti": secrets.token_hex(8)}
        access: dict[str, Any] = both | {"token_use": "access", "client_id": CLIENT_ID, "scope": grant["scope"]}
        if self.binds_resources and "resource" in grant:
            access["aud"] = grant["resource"]
        tokens = {"access_token": _encode(access), "refresh_token": secrets.token_urlsafe(24)}
        self._access_tokens[tokens["access_token"]] = access
        self._refresh_tokens[tokens["refresh_token"]] = grant
        if "openid" in grant["scope"].split():
            claims = {"aud": CLIENT_ID, "email": EMAIL, "nonce": grant.get("nonce", ""), "token_use": "id"}
            tokens["id_token"] = _encode(both | claims)
            self._id_tokens[tokens["id_token"]] = now + self.lifetime
        return JSONResponse(tokens | {"token_type": "Bearer", "expires_in": self.lifetime}, headers=_READABLE)

    def _refuse(self, error: str) -> Response:
        return JSONResponse({"error": error}, 400, headers=_READABLE)

    async def _revoke(self, request: Request) -> Response:
        form = await self._form(request)
        self._refresh_tokens.pop(form["token"], None)
        return Response()

    async def _logout(self, request: Request) -> Response:
        query = self._note(request, dict(request.query_params))
        if query["client_id"] != CLIENT_ID or query["logout_uri"] not in self.urls:
            return Response(status_code=400)
        return RedirectResponse(query["logout_uri"], HTTPStatus.FOUND)

    async def _form(self, request: Request) -> dict[str, str]:
        values = parse_qs((await request.body()).decode())
        return self._note(request, {name: value for name, (value,) in values.items()})

    def _note(self, request: Request, values: dict[str, str]) -> dict[str, str]:
        self.requests.append((request.url.path, values))
        return values


def _encode(claims: dict[str, Any]) -> str:
    """A token, with a signature that nobody here checks."""
    parts = ({"alg": "RS256"}, claims)
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, "c2ln"))
