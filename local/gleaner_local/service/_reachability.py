"""Checks that the services named by the environment are reachable, before anything is started that uses them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from gleaner_local.errors import CannotStart

_ADDRESS_VARIABLES = ("OPENAI_BASE_URL", "PINECONE_INDEX_HOST", "PERPLEXITY_BASE_URL", "AWS_ENDPOINT_URL_DYNAMODB")
_TIMEOUT_SECONDS = 3.0
_DEFAULT_PORTS = {"http": 80, "https": 443}


def require_reachable(env: Mapping[str, str]) -> None:
    """Raises CannotStart for the first address of a remote service that does not accept a connection."""
    for variable in _ADDRESS_VARIABLES:
        address = env.get(variable)
        if address:
            _require_connection(variable, address if "//" in address else f"https://{address}")


def _require_connection(variable: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        target = (parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme])
        socket.create_connection(target, timeout=_TIMEOUT_SECONDS).close()
    except (ValueError, KeyError):
        raise CannotStart(f"{variable} must be an http or https URL.") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CannotStart(
            f"{variable} names an address that cannot be reached ({reason}). Fix it or unset it."
        ) from error
