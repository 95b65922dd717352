"""The result of a web search as bytes, for other processes of the same version."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict

from gleaner.clients.perplexity import WebSearchResult
from gleaner.model import Citation


def pack(result: WebSearchResult) -> bytes:
    """The result, compressed: DynamoDB charges for each kilobyte that is written."""
    return zlib.compress(json.dumps(asdict(result)).encode())


def unpack(packed: bytes) -> WebSearchResult:
    """The result that `pack` was given."""
    fields = json.loads(zlib.decompress(packed))
    citations = tuple(Citation(**citation) for citation in fields.pop("citations"))
    return WebSearchResult(citations=citations, **fields)
