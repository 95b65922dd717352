"""Credentials that a command calls the API with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

API_KEY_VARIABLE = "GLEANER_API_KEY"
TOKEN_VARIABLE = "GLEANER_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Credentials:
    """An API key, a token, both or neither. Has no repr because it holds secrets."""

    api_key: str | None = None
    token: str | None = None
    assumed: bool = False  # True if the user gave none

    def headers(self) -> dict[str, str]:
        """The request headers that carry the credentials."""
        headers = {"x-api-key": self.api_key, "authorization": f"Bearer {self.token}" if self.token else None}
        return {name: value for name, value in headers.items() if value}

    def bearer_header(self) -> dict[str, str]:
        """The request header that carries them to `/v1` and `/mcp`, which take a key as bearer token, too."""
        value = self.token or self.api_key
        return {"authorization": f"Bearer {value}"} if value else {}

    def describe(self) -> str:
        """Say which credentials there are without showing them."""
        parts = [name for name, value in (("API key", self.api_key), ("token", self.token)) if value]
        return " and ".join(parts) or "no API key or token"

    def __bool__(self) -> bool:
        return bool(self.headers())


def from_environment(env: Mapping[str, str]) -> Credentials:
    """Read the credentials of the environment. Raises ValueError that names a variable unfit for a header."""
    for name in (API_KEY_VARIABLE, TOKEN_VARIABLE):
        if not fits_a_header(env.get(name, "")):
            raise ValueError(f"{name} must be printable ASCII.")
    return Credentials(api_key=env.get(API_KEY_VARIABLE), token=env.get(TOKEN_VARIABLE))


def fits_a_header(value: str) -> bool:
    """Whether a header can carry the value."""
    return value.isascii() and value.isprintable()
