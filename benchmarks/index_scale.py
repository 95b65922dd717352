"""Measures how fast the embedded index opens and searches a large namespace.

    python benchmarks/index_scale.py [--chunks 100000]

Chunks are 150 random words by Zipf's law; vectors are random. Queries contain common and rare words. Times include
embedding the query, searching by words and meaning, and reading the hits from disk.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gleaner_local.index.embedded import ANALYSIS_VERSION, FILE_NAME, EmbeddedIndex
from gleaner_local.index.embedder import DIMENSIONS
from gleaner_local.index.filters import Predicate, compile_filter
from gleaner_local.index.store import RecordStore, StoredRecord
from gleaner_local.index.terms import NO_TERMS, count_terms
from harness.own_environment import positive

WORDS = 50_000
CHUNK_WORDS = 150
QUERY_WORDS = 10
BATCH = 1000
QUERIES = 100
NAMESPACE = "scale"


def fill(directory: Path, chunks: int, draw: Callable[[int], str], random: np.random.Generator) -> None:
    """Write random records as the index does."""
    store = RecordStore(directory / FILE_NAME)
    for first in range(0, chunks, BATCH):
        vectors = random.standard_normal((BATCH, 1, DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        texts = [draw(CHUNK_WORDS) for _ in range(BATCH)]
        store.put(
            NAMESPACE,
            [
                StoredRecord(
                    f"doc#{first + i}", {"text": text, "number": first + i}, count_terms(text), NO_TERMS, 1.0, vector
                )
                for i, (text, vector) in enumerate(zip(texts, vectors, strict=True))
            ],
            ANALYSIS_VERSION,
        )
    store.close()


def ask(index: EmbeddedIndex, queries: list[str], matches: Predicate | None = None) -> list[float]:
    """Milliseconds of each query."""
    times = []
    for query in queries:
        start = time.perf_counter()
        index.search(NAMESPACE, query, top_k=10, matches=matches)
        times.append(1000 * (time.perf_counter() - start))
    return times


def main() -> None:
    """Fill an index in a temporary directory, open it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=positive, default=100_000)
    chunks = parser.parse_args().chunks
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, WORDS + 1)
    shares = np.cumsum(weights / weights.sum())

    def draw(words: int) -> str:
        return " ".join(f"w{word:x}" for word in np.searchsorted(shares, random.random(words)))

    queries = [draw(QUERY_WORDS) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        fill(Path(directory), chunks, draw, random)
        print(f"written        {chunks} chunks in {time.perf_counter() - start:.1f} s")
        print(f"on disk        {sum(f.stat().st_size for f in Path(directory).iterdir()) / 1e6:.0f} MB")
        index = EmbeddedIndex.open(Path(directory))
        index.search("another", "loads the model", top_k=1)
        (opening,) = ask(index, queries[:1])
        print(f"first search   {opening:.0f} ms (reads the namespace into memory)")
        _report("search", ask(index, queries))
        _report("filtered 50 %", ask(index, queries, compile_filter({"number": {"$lt": chunks // 2}})))
        index.upsert(NAMESPACE, [(f"new#{i}", {"text": "fresh words"}) for i in range(96)])
        _report("after a write", ask(index, queries))
        index.close()
    print(f"peak memory    {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


def _report(name: str, times: list[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{name:<14} p50 {statistics.median(times):.1f} ms, p95 {p95:.1f} ms, most {max(times):.1f} ms")


if __name__ == "__main__":
    main()
