"""Recognizes web pages of hosts that the operator blocks."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class BlockedHosts:
    """Hosts, in lower case and ASCII; their subdomains are blocked with them."""

    hosts: frozenset[str] = frozenset()

    def blocks(self, url: str) -> bool:
        """Whether the page is on a blocked host. An address that cannot be read is blocked if any host is."""
        if not self.hosts:
            return False
        host = host_of(url)
        if host is None:
            return True
        labels = host.split(".")
        return any(".".join(labels[start:]) in self.hosts for start in range(len(labels)))


def host_of(url: str) -> str | None:
    """The host of an address as `to_ascii_host` writes it; None if it cannot be read."""
    try:
        return to_ascii_host(urlsplit(url).hostname or "")
    except ValueError:
        return None


def to_ascii_host(host: str) -> str | None:
    """A host in lower case, without the final dot, with other scripts as Punycode; None if it is no host."""
    name = host.strip().rstrip(".").lower()
    try:
        return (name if name.isascii() else name.encode("idna").decode()) or None
    except UnicodeError:
        return None


NONE_BLOCKED = BlockedHosts()
