"""Reads environment variables; errors name the variable. Only settings modules use it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gleaner.addresses import is_web_address
from gleaner.errors import ConfigurationError

_PATH = re.compile(r"(?:/[a-z0-9-]+)+")


def require(env: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise ConfigurationError with the names of all variables that are not set."""
    missing = [name for name in names if not env.get(name)]
    if missing:
        raise ConfigurationError(f"Set the environment variable(s) {', '.join(missing)}.")


def read_url(env: Mapping[str, str], name: str) -> str | None:
    """Return an http or https URL, or None if the variable is not set. Raises ConfigurationError."""
    value = env.get(name)
    if not value:
        return None
    if not is_web_address(value):
        raise ConfigurationError(f"{name} must be an http or https URL.")
    return value


def read_path(env: Mapping[str, str], name: str) -> str:
    """Return a path below the address of the service, or an empty text if it is not set. Raises ConfigurationError."""
    value = env.get(name, "")
    if value and not _PATH.fullmatch(value):
        raise ConfigurationError(f"{name} must be a path such as /local/documents.")
    return value


def read_switch(env: Mapping[str, str], name: str) -> bool:
    """Return whether a variable is `on`; it is `off` by default. Raises ConfigurationError."""
    value = env.get(name) or "off"
    if value not in ("on", "off"):
        raise ConfigurationError(f"{name} must be on or off.")
    return value == "on"


def read_positive(env: Mapping[str, str], name: str, default: float) -> float:
    """Return a positive number, or `default` if the variable is not set. Raises ConfigurationError."""
    number = read_optional_positive(env, name)
    return default if number is None else number


def read_optional_positive(env: Mapping[str, str], name: str) -> float | None:
    """Return a positive number, or None if the variable is not set. Raises ConfigurationError."""
    value = env.get(name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigurationError(f"{name} must be a positive number.")
    return number
