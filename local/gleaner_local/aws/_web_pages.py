"""Prevents web pages in a browser on this machine from calling the service with the user's rights."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

FOREIGN_HOST = "This service answers only this machine. Call it by the name localhost or the address 127.0.0.1."
FOREIGN_ORIGIN = "Pages of this origin may not call the service. Add the origin to CORS_ORIGINS to allow it."


def find_objection(headers: Headers, origins: Collection[str]) -> str | None:
    """The reason to reject a request, or None; pages of `origins` may call, and `*` stands for all origins.

    No credential keeps other sites' pages out here. A page can send a question without a preflight request, and if a
    site's name resolves to this machine, the browser treats the service as part of the site.
    """
    if not all(_is_loopback(f"//{host}") for host in headers.getlist("host")):
        return FOREIGN_HOST
    if "*" in origins or all(origin in origins or _is_loopback(origin) for origin in headers.getlist("origin")):
        return None
    return FOREIGN_ORIGIN


def _is_loopback(address: str) -> bool:
    """Whether the host of an address is this machine, whatever the port."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # another name or not an address
        return False
