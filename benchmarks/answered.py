"""Measures how often the service lowers the model's judgement that an answer answers the question.

    python benchmarks/answered.py DIR… [--limit N]

Each DIR is as for retrieval.py, with documents in groups of five paragraphs of one article, in order (XQuAD). Each
question is judged with three sources: its own paragraph ("own": lowered wrongly), the one of the four others of the
article that shares most words with it ("near": lowered rightly), and, for every further DIR with the same documents
in another language, the paragraph there ("cross": lowered wrongly). The answer is the paragraph itself.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from gleaner import text
from gleaner.guards.answered import judge_answered
from gleaner.model import Answered, Passage, SourceType
from harness.document_collections import Collection, read_collection
from harness.own_environment import positive

PARAGRAPHS = 5  # of each article
SEED = 11


def is_lowered(question: str, paragraph: str) -> bool:
    """Whether the paragraph, cited by an answer, is judged not to hold what was asked."""
    source = Passage(key="1", id="kb-1", content=paragraph, score=1.0, source_type=SourceType.KNOWLEDGE_BASE, title="")
    return judge_answered(question, paragraph, [source], claim=None, stands_alone=True) is not Answered.FOUND


def find_nearest(question: str, own: str, documents: Mapping[str, str]) -> str:
    """The other paragraph of the article that shares most words with the question."""
    ids = list(documents)
    start = ids.index(own) // PARAGRAPHS * PARAGRAPHS
    asked = set(text.stems(question))
    others = [documents[id] for id in ids[start : start + PARAGRAPHS] if id != own]
    return max(others, key=lambda paragraph: len(asked & set(text.stems(paragraph))))


def print_shares(collection: Collection, others: Sequence[Collection], limit: int) -> None:
    """Print the share of questions whose judgement is lowered, by kind of source."""
    pairs = [(collection.queries[query], next(iter(grades))) for query, grades in collection.relevance.items()]
    sample = random.Random(SEED).sample(pairs, min(limit, len(pairs)))  # noqa: S311 - no secret
    sources = {
        "own": [collection.documents[own] for _, own in sample],
        "near": [find_nearest(question, own, collection.documents) for question, own in sample],
    }
    sources |= {f"cross {other.name}": [other.documents[own] for _, own in sample] for other in others}
    for kind, paragraphs in sources.items():
        lowered = sum(
            is_lowered(question, paragraph) for (question, _), paragraph in zip(sample, paragraphs, strict=True)
        )
        print(f"{collection.name:<14} {kind:<16} lowered {lowered / len(sample):.3f}", flush=True)


def main() -> None:
    """Measure the collections of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=positive, default=300, help="questions of each collection")
    arguments = parser.parse_args()
    collections = [read_collection(directory) for directory in arguments.collections]
    for collection in collections:
        others = [
            other
            for other in collections
            if other is not collection and other.documents.keys() == collection.documents.keys()
        ]
        print_shares(collection, others, arguments.limit)


if __name__ == "__main__":
    main()
