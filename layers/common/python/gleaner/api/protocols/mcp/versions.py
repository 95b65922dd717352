"""The versions of the protocol that the service speaks.

They are those of github.com/modelcontextprotocol/modelcontextprotocol, docs/specification/. Since 2026-07-28 there is
no handshake: each request says in its `_meta` which version it is of (basic/versioning.mdx there).
"""

from __future__ import annotations

CURRENT = "2026-07-28"
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the newest first
SUPPORTED = (CURRENT, *WITH_HANDSHAKE)

# A request without the header, which came with 2025-06-18, counts as this (basic/transports/streamable-http.mdx).
WITHOUT_HEADER = "2025-03-26"
# An array of messages is a message in these; 2025-06-18 removed it (docs/specification/2025-06-18/changelog.mdx).
WITH_BATCHES = frozenset({"2025-03-26", "2024-11-05"})


def agree(requested: str) -> str:
    """The version that the handshake agrees on: the client's, or the newest, which the client may decline."""
    return requested if requested in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
