"""Values of environment variables, refused in words that name the variable. Settings alone read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from gleaner.errors import ConfigurationError


def require(env: Mapping[str, str], names: Sequence[str]) -> None:
    """Raises ConfigurationError that names those of the variables that are not set."""
    missing = [name for name in names if not env.get(name)]
    if missing:
        raise ConfigurationError(f"Set the environment variable(s) {', '.join(missing)}.")


def url(env: Mapping[str, str], name: str) -> str | None:
    """An http or https URL; None without the variable. Raises ConfigurationError."""
    value = env.get(name)
    if not value:
        return None
    if not is_web_address(value):
        raise ConfigurationError(f"{name} must be an http or https URL.")
    return value


def is_web_address(value: str) -> bool:
    """Whether it is an http or https URL with a host."""
    try:
        parts = urlsplit(value)
        named = bool(parts.hostname) and parts.port != 0
        return named and parts.scheme in ("http", "https") and not any(map(str.isspace, value))
    except ValueError:  # of a host or a port that is none
        return False


def positive(env: Mapping[str, str], name: str, default: float) -> float:
    """A positive number; `default` without the variable. Raises ConfigurationError."""
    value = env.get(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigurationError(f"{name} must be a positive number.")
    return number
