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
    """Documents and queries by id, and which document answers which query how well."""

    name: str
    documents: Mapping[str, str]
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
        documents=_texts(directory / "corpus.jsonl"),
        queries=_texts(directory / "queries.jsonl"),
        relevance=relevance,
    )


def _texts(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8") as lines:
        return {item["id"]: item["text"] for item in map(json.loads, lines)}
