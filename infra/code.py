"""The code that the functions run: built layers, and directories of handlers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Directories of the code that the functions run."""

    layer: Path
    layer_hash: str  # hash of the layer's inputs
    documents_layer: Path
    documents_layer_hash: str
    query: Path
    prune: Path
    authorizer: Path
    ingest: Path
