"""Estimates what loading documents takes of the index: chunks, tokens to embed, and write units."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from gleaner.clients.pinecone_records import to_wire
from gleaner.model import Record
from gleaner_local.ingestion.embedding_tokens import estimate_tokens

# docs.pinecone.io/guides/manage-cost/understanding-cost: a write unit for each KB of a record, whose vector has 4 bytes
# for each of its 1,024 dimensions (the default of the model).
_BYTES_OF_UNIT = 1_000
_VECTOR_BYTES = 4 * 1_024


@dataclass(slots=True)
class LoadEstimate:
    """What is to be written. Versions that are replaced cost as many write units again, which are not counted."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0  # estimated, see embedding_tokens.py
    write_units: float = 0.0
    largest_document: str = ""  # the name of its file
    largest_tokens: int = 0


def estimate_load(documents: Iterable[list[Record]]) -> LoadEstimate:
    """Sum up documents, each of which has at least one record."""
    estimate = LoadEstimate()
    for records in documents:
        estimate.documents += 1
        estimate.chunks += len(records)
        before = estimate.tokens
        for record in records:
            wire = to_wire(record)
            estimate.tokens += estimate_tokens(wire["text"])
            size = len(json.dumps(wire, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            estimate.write_units += (size + _VECTOR_BYTES) / _BYTES_OF_UNIT
        if estimate.tokens - before > estimate.largest_tokens:
            estimate.largest_tokens = estimate.tokens - before
            estimate.largest_document = records[0].source_file_path
    return estimate
