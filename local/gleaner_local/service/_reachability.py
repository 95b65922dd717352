"""Whether the services that the environment names answer at all, before anything is started over them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from gleaner_local.errors import CannotStart

_ADDRESSES = ("OPENAI_BASE_URL", "PINECONE_INDEX_HOST", "PERPLEXITY_BASE_URL", "AWS_ENDPOINT_URL_DYNAMODB")
_SECONDS = 3.0
_PORTS = {"http": 80, "https": 443}


def require_reachable(env: Mapping[str, str]) -> None:
    """Raises CannotStart for the first address of a remote service that takes no connection."""
    for variable in _ADDRESSES:
        address = env.get(variable)
        if address:
            _require(variable, address if "//" in address else f"https://{address}")


def _require(variable: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        target = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        socket.create_connection(target, timeout=_SECONDS).close()
    except (ValueError, KeyError):
        raise CannotStart(f"{variable} must be an http or https URL.") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CannotStart(
            f"{variable} names an address that cannot be reached ({reason}). Mend it or unset it."
        ) from error
