"""Measures the retrieval quality of the embedded index, through the Pinecone SDK and the local server.

    python benchmarks/retrieval.py DIR…

Each DIR holds corpus.jsonl (id, title, text), queries.jsonl (id, text) and qrels.tsv (query, document,
relevance, with a header). Only `text` is searched. Documents are cut by the project's chunker; the rank of
a document is that of its best chunk.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.model import Record
from gleaner_documents.chunking import chunk_text
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.pinecone_server import create_app
from harness.document_collections import Collection, read_collection

TOP_K = 50  # chunks; ten documents may need more than ten chunks
TIMEOUT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The results: rates in chunks per second, times in milliseconds."""

    chunks: int
    ndcg_10: float
    recall_5: float
    chunks_per_second: float
    query_ms_p50: float
    query_ms_p95: float


def measure(collection: Collection) -> Figures:
    """Load the collection into a fresh index and ask all its queries."""
    records = [record for item in collection.documents.items() for record in _records(*item)]
    with _knowledge_base() as kb:
        kb.search(collection.name, "warm up", top_k=1, timeout=TIMEOUT)  # loads the model
        start = time.perf_counter()
        kb.upsert(collection.name, records, timeout=TIMEOUT)
        loading = time.perf_counter() - start
        rankings, times = _ask(kb, collection)
    queries = [query for query in collection.queries if collection.relevance.get(query)]
    return Figures(
        chunks=len(records),
        ndcg_10=statistics.fmean(ndcg(rankings[q], collection.relevance[q], 10) for q in queries),
        recall_5=statistics.fmean(recall(rankings[q], collection.relevance[q], 5) for q in queries),
        chunks_per_second=len(records) / loading,
        query_ms_p50=statistics.median(times),
        query_ms_p95=statistics.quantiles(times, n=20)[-1],
    )


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Normalised discounted cumulative gain of a ranking of documents."""
    ideal = _gain(sorted(grades.values(), reverse=True)[:depth])
    return _gain([grades.get(document, 0) for document in ranking[:depth]]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of the relevant documents that are among the first `depth`."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranking[:depth])) / len(relevant) if relevant else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


def _ask(kb: KnowledgeBase, collection: Collection) -> tuple[dict[str, list[str]], list[float]]:
    """The ranking of documents and the milliseconds of each query."""
    rankings, times = {}, []
    for query_id, text in collection.queries.items():
        start = time.perf_counter()
        hits = kb.search(collection.name, text, top_k=TOP_K, timeout=TIMEOUT)
        times.append(1000 * (time.perf_counter() - start))
        rankings[query_id] = list(dict.fromkeys(hit.record.source_file_path for hit in hits))
    return rankings, times


def _records(document: str, text: str) -> Iterator[Record]:
    for index, chunk in enumerate(chunk_text(text)):
        yield Record(
            id=f"{document}#{index}",
            text=chunk,
            title="",
            source_file_path=document,
            chunk_index=index,
            content_hash="",
        )


@contextmanager
def _knowledge_base() -> Iterator[KnowledgeBase]:
    with tempfile.TemporaryDirectory() as directory:
        index = EmbeddedIndex.open(Path(directory))
        server = AsgiServer(create_app(index))
        server.start()
        try:
            yield connect(host=server.url, api_key=lambda: "local")
        finally:
            server.stop()
            index.close()


def main() -> None:
    """Print one line of figures for each collection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directories", metavar="DIR", nargs="+", type=Path)
    names = ("chunks", "nDCG@10", "recall@5", "chunks/s", "p50 ms", "p95 ms")
    print(f"{'collection':<20}", *(f"{name:>9}" for name in names))
    for directory in parser.parse_args().directories:
        figures = measure(read_collection(directory))
        print(
            f"{directory.name:<20} {figures.chunks:>9} {figures.ndcg_10:>9.3f} {figures.recall_5:>9.3f}"
            f" {figures.chunks_per_second:>9.1f} {figures.query_ms_p50:>9.1f} {figures.query_ms_p95:>9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
