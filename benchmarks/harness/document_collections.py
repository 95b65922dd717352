"""Collections of documents and questions that say which document answers which question."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Judgements = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Documents, their titles and queries by id, and which document answers which query how well."""

    name: str
    documents: Mapping[str, str]
    titles: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Judgements


def read_collection(directory: Path) -> Collection:
    """The collection in a directory."""
    relevance: dict[str, dict[str, int]] = defaultdict(dict)
    with (directory / "qrels.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t")
        next(rows)
        for query, document, grade in rows:
            relevance[query][document] = int(grade)
    return Collection(
        name=directory.name,
        documents=_read_field(directory / "corpus.jsonl", "text"),
        titles=_read_field(directory / "corpus.jsonl", "title"),
        queries=_read_field(directory / "queries.jsonl", "text"),
        relevance=relevance,
    )


def _read_field(path: Path, field: str) -> dict[str, str]:
    """The field of each item by the item's id, "" where it is missing."""
    with path.open(encoding="utf-8") as lines:
        return {item["id"]: item.get(field, "") for item in map(json.loads, lines)}
