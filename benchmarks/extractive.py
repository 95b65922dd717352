"""Measures how often the extractive model, asked through the API, cites the passage that holds the answer.

    python benchmarks/extractive.py DIR [--other DIR] [--limit N]

DIR holds corpus.jsonl (id, title, text), queries.jsonl (id, text) and qrels.tsv (query, document, relevance, with a
header). The script starts a service on a fresh data directory, loads the corpus as a knowledge base, and asks every
question over HTTP. With --other it also asks the questions of another collection. The knowledge base does not hold
their answers, so they should go to the web.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from gleaner.clients.pinecone import connect
from gleaner.model import Record
from gleaner_documents.chunking import chunk_text
from harness.document_collections import Collection, read_collection
from harness.own_environment import positive
from harness.own_service import service

LOAD_SECONDS = 600.0
ASK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer: the documents it cites in order, where it came from, and the milliseconds it took.

    `web`: the web was searched. `learned`: it uses what an earlier web search taught.
    """

    cited: tuple[str, ...]
    web: bool
    learned: bool
    ms: float


def ask(url: str, kb_id: str, question: str) -> Answer:
    """Ask one question. Raises httpx.HTTPStatusError if it is not answered."""
    start = time.perf_counter()
    response = httpx.post(
        f"{url}/api/chat/query", json={"query": question, "kb_id": kb_id}, timeout=ASK_SECONDS
    ).raise_for_status()
    ms = 1000 * (time.perf_counter() - start)
    body = response.json()
    citations = tuple(source["source_file_path"] or "" for source in body["sources"])
    web = "perplexity_search" in body["used_tools"]
    return Answer(cited=citations, web=web, learned=body["used_external_kb"] and not web, ms=ms)


def load(host: str, collection: Collection) -> None:
    """Write the documents, cut by the project's chunker, to a knowledge base named as the collection."""
    records = [
        Record(
            id=f"{document}#{index}",
            text=chunk,
            title=collection.titles[document],
            source_file_path=document,
            chunk_index=index,
            content_hash="",
        )
        for document, text in collection.documents.items()
        for index, chunk in enumerate(chunk_text(text))
    ]
    connect(host=host, api_key=lambda: "local").upsert(collection.name, records, timeout=LOAD_SECONDS)


def print_covered(collection: Collection, answers: Mapping[str, Answer]) -> None:
    """Print how often the right passage is cited."""
    answerable = {query: answer for query, answer in answers.items() if collection.relevance.get(query)}
    hits = {query: [d in collection.relevance[query] for d in answer.cited] for query, answer in answerable.items()}
    first = statistics.fmean(any(cited[:1]) for cited in hits.values())
    anywhere = statistics.fmean(any(cited) for cited in hits.values())
    number = len(answerable)
    print(f"{collection.name}: {number} questions, the right passage cited first {first:.3f}, at all {anywhere:.3f}")


def print_web(name: str, answers: Mapping[str, Answer]) -> None:
    """Print the shares of web searches and of answers learned from the web, and the time taken."""
    times = [answer.ms for answer in answers.values()]
    web = statistics.fmean(answer.web for answer in answers.values())
    learned = statistics.fmean(answer.learned for answer in answers.values())
    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{name}: web searched for {web:.3f}, answered by what it taught earlier {learned:.3f}")
    print(f"{name}: milliseconds per question: median {median:.0f}, 95th percentile {p95:.0f}", flush=True)


def main() -> None:
    """Measure one collection and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", metavar="DIR", type=Path)
    parser.add_argument("--other", metavar="DIR", type=Path, help="a collection whose answers DIR does not hold")
    parser.add_argument("--limit", type=positive, help="ask only the first N questions of each")
    options = parser.parse_args()
    collection = read_collection(options.directory)
    with tempfile.TemporaryDirectory() as directory, service(Path(directory)) as running:
        load(running["pinecone_index_host"], collection)
        queries = dict(list(collection.queries.items())[: options.limit])
        answers = {query: ask(running["url"], collection.name, text) for query, text in queries.items()}
        print_covered(collection, answers)
        print_web(collection.name, answers)
        if options.other:
            other = read_collection(options.other)
            other_queries = dict(list(other.queries.items())[: options.limit])
            other_answers = {query: ask(running["url"], collection.name, text) for query, text in other_queries.items()}
            print_web(f"{other.name} asked of {collection.name}", other_answers)


if __name__ == "__main__":
    main()
