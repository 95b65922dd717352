"""How people sign in on the page: not at all, with an API key, or at the pages of a Cognito user pool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gleaner.errors import ConfigurationError

_KINDS = ("none", "api_key", "cognito")
# Nothing else may stand in it, because it becomes part of a Content-Security-Policy.
_ORIGIN = re.compile(r"https?://[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """The kind of credentials that the page sends, and for `cognito` where it gets them."""

    kind: str  # none, api_key or cognito
    pool_url: str | None = None  # the origin of the user pool's pages and endpoints
    client_id: str | None = None  # of the user pool, for the page


def read_sign_in(env: Mapping[str, str]) -> SignIn:
    """Read PAGE_SIGN_IN, and for `cognito` PAGE_USER_POOL_URL and PAGE_CLIENT_ID. Raises ConfigurationError."""
    kind = env.get("PAGE_SIGN_IN") or "none"
    url, client_id = env.get("PAGE_USER_POOL_URL"), env.get("PAGE_CLIENT_ID")
    if kind not in _KINDS:
        raise ConfigurationError(f"PAGE_SIGN_IN must be one of {', '.join(_KINDS)}.")
    if kind != "cognito":
        return SignIn(kind=kind)
    if not url or not client_id or not _ORIGIN.fullmatch(url):
        raise ConfigurationError("PAGE_SIGN_IN=cognito needs PAGE_CLIENT_ID, and PAGE_USER_POOL_URL as https://HOST.")
    return SignIn(kind=kind, pool_url=url, client_id=client_id)
