"""Keeps web pages that are open in a browser of this machine from calling the service with the user's rights."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

FOREIGN_HOST = "This service answers for this machine alone. Call it by the name localhost or the address 127.0.0.1."
FOREIGN_ORIGIN = "Pages of this origin may not call. Name the origin in CORS_ORIGINS to allow it."


def objection(headers: Headers, origins: Collection[str]) -> str | None:
    """Why a request is refused, or None; `origins` are those whose pages may call, `*` being all.

    No credential keeps the pages of other sites out here. A page can send a question without asking first, and a
    name that its site lets point to this machine makes the browser take the service for a part of the site.
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
    except ValueError:  # another name, or no address
        return False
