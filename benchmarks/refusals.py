"""Measures the embedded index and the extractive model's refusals on collections in any language.

    python benchmarks/refusals.py DIR… [--limit N] [--ranking-only | --refusals-only] [--whole]

Each DIR is as for retrieval.py. The first table has nDCG@10 and the share of questions whose right document is first:
by meaning, by words, and by the index, which fuses both. The second has the share of questions that the model takes as
answered by the passages instead of asking the web, and of those that it quotes where the web cannot be asked. Titles
are loaded with the documents that have them. First everything is loaded ("all"). With --whole, every other document is
loaded next, and the others are asked about ("absent"). The rest needs documents in groups of five paragraphs of one
article, in order (XQuAD): half of the articles are loaded and the others are asked about, then paragraphs 1, 3 and 5 of
each are loaded, and questions about the others ("near") and about them ("covered") are asked. Each text is embedded
once, which takes most of the time: one to two minutes of CPU for a collection.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gleaner.model import document_of
from gleaner_documents.chunking import chunk_text
from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, WEB, ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex, ScoredRecord
from gleaner_local.index.embedder import Embedder, TokenVectors, Vectors, unit_mean
from harness.document_collections import Collection, read_collection
from harness.own_environment import positive
from retrieval import ndcg

NAMESPACE = "languages"
TOP_K = 50
PASSAGES = 5
PARAGRAPHS = 5  # of each article
SEED = 11
Ranking = list[str]
Split = tuple[Callable[[int], bool], Callable[[int], bool]]  # is a paragraph loaded, is it asked about
ALL: Mapping[str, Split] = {"all": (lambda _: True, lambda _: True)}
ABSENT: Mapping[str, Split] = {"absent": (lambda n: n % 2 == 0, lambda n: n % 2 == 1)}
SPLITS: Mapping[str, Split] = {
    "other": (lambda n: n // PARAGRAPHS % 2 == 0, lambda n: n // PARAGRAPHS % 2 == 1),
    "near": (lambda n: n % PARAGRAPHS % 2 == 0, lambda n: n % PARAGRAPHS % 2 == 1),
    "covered": (lambda n: n % PARAGRAPHS % 2 == 0, lambda n: n % PARAGRAPHS % 2 == 0),
}


class CachingEmbedder(Embedder):
    """Embeds each text once: every table loads the same chunks again, in other selections."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        super().__init__(model, tokenizer)
        self._vectors: dict[str, Vectors] = {}
        self._tokens: dict[str, TokenVectors] = {}

    def embed(self, texts: Sequence[str], *, stop: threading.Event | None = None) -> list[Vectors]:
        """The unit vectors of each text's windows."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(new, super().embed(new, stop=stop) if new else [], strict=True))
        return [self._vectors[text] for text in texts]

    def embed_tokens(self, text: str) -> TokenVectors:
        """The vectors of each text's tokens."""
        if text not in self._tokens:
            self._tokens[text] = super().embed_tokens(text)
        return self._tokens[text]


def chunks_of(documents: Mapping[str, str]) -> list[tuple[str, str]]:
    """The chunks of all documents, each with its document."""
    return [(document, chunk) for document, text in documents.items() for chunk in chunk_text(text)]


@contextmanager
def loaded(
    chunks: Sequence[tuple[str, str]], embedder: Embedder | None, titles: Mapping[str, str]
) -> Iterator[EmbeddedIndex]:
    """An index that holds the chunks, with the titles of their documents; without an embedder it searches by words."""
    records = [
        (f"{document}#{i}", {"text": text, "title": titles.get(document, "")})
        for i, (document, text) in enumerate(chunks)
    ]
    with tempfile.TemporaryDirectory() as directory:
        index = EmbeddedIndex(Path(directory), embedder)
        index.upsert(NAMESPACE, records)
        yield index
        index.close()


def by_index(index: EmbeddedIndex) -> Callable[[str], Ranking]:
    """A function that ranks documents by the index."""
    return lambda text: _documents(hit.id for hit in index.search(NAMESPACE, text, top_k=TOP_K))


def by_meaning(chunks: Sequence[tuple[str, str]], embedder: Embedder) -> Callable[[str], Ranking]:
    """A function that ranks documents by the cosine of their best window alone."""
    windows = embedder.embed([text for _, text in chunks])

    def rank(text: str) -> Ranking:
        vector = unit_mean(embedder.embed([text])[0])
        cosines = [float((own @ vector).max()) for own in windows]
        return _documents(f"{chunks[row][0]}#" for row in np.argsort(cosines)[::-1][:TOP_K])

    return rank


def _documents(ids: Iterator[str]) -> Ranking:
    return list(dict.fromkeys(document_of(record_id) for record_id in ids))


def print_ranking(collection: Collection, questions: Sequence[str], embedder: Embedder) -> None:
    """Print how each side and the index rank the collection."""
    chunks = chunks_of(collection.documents)
    with loaded(chunks, None, {}) as words, loaded(chunks, embedder, {}) as fused:
        sides = {"meaning": by_meaning(chunks, embedder), "words": by_index(words), "fused": by_index(fused)}
        for side, rank in sides.items():
            rankings = {question: rank(collection.queries[question]) for question in questions}
            gain = statistics.fmean(ndcg(rankings[q], collection.relevance[q], 10) for q in questions)
            first = statistics.fmean(
                rankings[q][:1] != [] and rankings[q][0] in collection.relevance[q] for q in questions
            )
            print(f"{collection.name:<14} {side:<8} nDCG@10 {gain:.3f}, right document first {first:.3f}", flush=True)


def print_answered(collection: Collection, splits: Mapping[str, Split], limit: int, embedder: Embedder) -> None:
    """Print the share of questions that are answered, for each split of the collection."""
    place = {document: number for number, document in enumerate(collection.documents)}
    about = {query: place[next(iter(grades))] for query, grades in collection.relevance.items() if grades}
    model = ExtractiveModel(Judge(embedder))
    for name, (is_loaded, is_asked) in splits.items():
        chunks = chunks_of({d: text for d, text in collection.documents.items() if is_loaded(place[d])})
        questions = sample([query for query, number in about.items() if is_asked(number)], limit)
        with loaded(chunks, embedder, collection.titles) as index:
            results = [_is_answered(model, index, collection.queries[q]) for q in questions]
        answered, quoted = (statistics.fmean(column) for column in zip(*results, strict=True))
        shares = f"answered {answered:.3f}, without the web {quoted:.3f} of {len(questions)}"
        print(f"{collection.name:<14} {name:<8} {shares}", flush=True)


def _is_answered(model: ExtractiveModel, index: EmbeddedIndex, question: str) -> tuple[bool, bool]:
    """Whether the passages are taken for an answer, and whether they are quoted where the web cannot be asked."""
    passages = index.search(NAMESPACE, question, top_k=PASSAGES)
    call = {"id": "call", "type": "function", "function": {"name": SEARCH, "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call", "content": json.dumps({"chunks": [*map(_passage, passages)]})},
    ]
    [alone] = model.next_calls(messages, (ANSWER,))
    quoted = bool(json.loads(alone.arguments)["sources"])
    return model.next_calls(messages, (WEB, ANSWER))[0].name == ANSWER, quoted


def _passage(hit: ScoredRecord) -> dict[str, str | float]:
    return {
        "id": hit.id,
        "content": str(hit.fields["text"]),
        "score": hit.score,
        "source_type": "internal",
        "title": str(hit.fields["title"]),
        "source_file_path": document_of(hit.id),
    }


def sample(questions: Sequence[str], limit: int) -> list[str]:
    """At most `limit` of the questions, always the same ones."""
    return random.Random(SEED).sample(sorted(questions), min(limit, len(questions)))  # noqa: S311 - no secret


def main() -> None:
    """Print both tables for each collection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directories", metavar="DIR", nargs="+", type=Path)
    parser.add_argument("--limit", type=positive, default=250, help="questions of each kind")
    parser.add_argument("--ranking-only", action="store_true", help="print the first table only")
    parser.add_argument("--refusals-only", action="store_true", help="print the second table only")
    parser.add_argument("--whole", action="store_true", help="do not split the documents: they are not XQuAD's")
    options = parser.parse_args()
    embedder = CachingEmbedder.installed()
    for directory in options.directories:
        collection = read_collection(directory)
        answerable = [query for query in collection.queries if collection.relevance.get(query)]
        if not options.refusals_only:
            print_ranking(collection, sample(answerable, options.limit), embedder)
        if not options.ranking_only:
            splits = {**ALL, **ABSENT} if options.whole else {**ALL, **SPLITS}
            print_answered(collection, splits, options.limit, embedder)


if __name__ == "__main__":
    main()
