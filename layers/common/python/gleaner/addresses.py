"""Checks of web addresses."""

from __future__ import annotations

from urllib.parse import urlsplit

MAX_ADDRESS_CHARS = 2_000  # of the address of a page; browsers and servers take about as many


def is_web_address(value: str) -> bool:
    """Return whether `value` is an http or https URL with a host, without white space and invisible characters."""
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and parts.port != 0
        return has_host and parts.scheme in ("http", "https") and value.isprintable() and " " not in value
    except ValueError:  # an invalid host or port
        return False


def is_page_address(value: str) -> bool:
    """Return whether `value` may be shown as the address of a page: a web address of bounded length, without a name.

    `https://good.example@evil.example` names a user of another host than readers see.
    """
    return len(value) <= MAX_ADDRESS_CHARS and is_web_address(value) and "@" not in urlsplit(value).netloc
