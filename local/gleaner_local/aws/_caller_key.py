"""Which API key a request to this machine carries."""

from __future__ import annotations

from collections.abc import Container

from starlette.datastructures import Headers

LOCAL_CALLER = "local"
_DOORS = ("/v1", "/mcp")  # whose clients send an API key as bearer token, as on AWS
_SCHEME = "bearer "


def find_key(path: str, headers: Headers, named_keys: Container[str]) -> str:
    """The value that serves as the id of the caller's key.

    It is that of the `x-api-key` header. At the doors it is also a bearer token, if it is one of `named_keys`, which
    mean somebody: clients of the OpenAI API insist on some key, and any other one stands for nobody.
    """
    if any(path == door or path.startswith(f"{door}/") for door in _DOORS):
        token = _bearer_token(headers.get("authorization", ""))
        if token in named_keys:
            return token
    return headers.get("x-api-key") or LOCAL_CALLER


def _bearer_token(value: str) -> str:
    return value[len(_SCHEME) :].strip() if value.lower().startswith(_SCHEME) else ""
