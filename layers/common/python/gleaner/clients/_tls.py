"""The TLS context that all clients share, so that certificates are read only once."""

from __future__ import annotations

from functools import cache
from ssl import SSLContext

import httpx


@cache
def tls_context() -> SSLContext:
    """Return the context that an httpx client would otherwise build; reading certificates is its main cost."""
    return httpx.create_ssl_context()
