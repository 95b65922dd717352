"""Which pages are on a blocked host."""

from __future__ import annotations

import pytest

from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts

BLOCKED = BlockedHosts(frozenset({"evil.example", "xn--bse-sna.example"}))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/a",
        "http://EVIL.example:8080/",
        "https://evil.example./a",
        "https://www.deep.evil.example/a",
        "https://user:pw@evil.example/",  # pragma: allowlist secret
        "https://good.example@evil.example/",
        "https://b\u00f6se.example/",
        "https://xn--bse-sna.example/",
        "https://[broken",
    ],
)
def test_pages_of_blocked_hosts_and_their_subdomains_are_blocked(url: str) -> None:
    assert BLOCKED.blocks(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example/evil.example",
        "https://notevil.example/",
        "https://evil.example.org/",
        "https://example/",
        "https://evil.example@good.example/",
        "https://good.example/?u=https://evil.example/",
    ],
)
def test_other_pages_are_not(url: str) -> None:
    assert not BLOCKED.blocks(url)


def test_nothing_is_blocked_by_default() -> None:
    assert not NONE_BLOCKED.blocks("https://[broken")
