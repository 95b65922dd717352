"""The certificates that outside services are checked by, read once for all clients."""

from __future__ import annotations

from functools import cache
from ssl import SSLContext

import httpx


@cache
def tls_context() -> SSLContext:
    """What a client of httpx makes for itself otherwise; reading the certificates takes most of making a client."""
    return httpx.create_ssl_context()
