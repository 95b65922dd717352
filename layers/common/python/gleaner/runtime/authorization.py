"""Where clients that act for a user get tokens for this service: at a Cognito user pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gleaner.errors import ConfigurationError
from gleaner.runtime.variables import read_url

_NAMES = ("API_URL", "USER_POOL_URL", "USER_POOL_ISSUER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """The addresses that the authorization of MCP clients needs, each without a final slash."""

    api_url: str  # of this API, as its clients see it
    pool_url: str  # the origin of the pool's sign-in pages and OAuth endpoints
    pool_issuer: str  # of the pool's tokens

    @property
    def resource(self) -> str:
        """What a token is for: the MCP server. The pool knows it by this name, too."""
        return f"{self.api_url}/mcp"

    @property
    def scope(self) -> str:
        """The right that a token must carry."""
        return f"{self.resource}/ask"


def read_authorization(env: Mapping[str, str]) -> Authorization | None:
    """Read API_URL, USER_POOL_URL and USER_POOL_ISSUER; None if none is set. Raises ConfigurationError."""
    api_url, pool_url, issuer = (read_url(env, name) for name in _NAMES)
    if api_url is None and pool_url is None and issuer is None:
        return None
    if api_url is None or pool_url is None or issuer is None:
        raise ConfigurationError(f"Set all of {', '.join(_NAMES)}, or none.")
    if any(url.endswith("/") for url in (api_url, pool_url, issuer)):  # clients compare addresses as texts
        raise ConfigurationError(f"{', '.join(_NAMES)} must not end with a slash.")
    return Authorization(api_url=api_url, pool_url=pool_url, pool_issuer=issuer)
