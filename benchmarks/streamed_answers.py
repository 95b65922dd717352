"""Checks that each question of a collection gets the same answer on the route that streams as on the one that does not.

    python benchmarks/streamed_answers.py DIR [--limit N]

DIR is as for extractive.py. Two services with a data directory each load the same documents and get the same questions
in the same order, one on each route: what one answer teaches the next is then the same. The extractive model answers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from extractive import ASK_SECONDS, load
from harness.document_collections import Collection, read_collection
from harness.own_environment import positive
from harness.own_service import service
from tests.doubles.event_stream import final_of, read_parts, texts_of

# The model reads how long a search took, so its tokens differ, too.
OF_ONE_RUN = {"query_id", "session_id", "message_id", "latency_ms", "cost"}


def main() -> None:
    """Ask all questions; exit with 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", metavar="DIR", type=Path)
    parser.add_argument("--limit", type=positive, help="ask only the first N questions")
    options = parser.parse_args()
    collection = read_collection(options.directory)
    questions = list(collection.queries.values())[: options.limit]
    with loaded_service(collection) as whole_url, loaded_service(collection) as streamed_url:
        counts = Counter(compare(whole_url, streamed_url, collection.name, question) for question in questions)
    print(f"{collection.name}: {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    sys.exit(1 if counts["different"] else 0)


@contextmanager
def loaded_service(collection: Collection) -> Iterator[str]:
    """Run a service with the documents; its URL."""
    with tempfile.TemporaryDirectory() as directory, service(Path(directory)) as running:
        load(running["pinecone_index_host"], collection)
        yield running["url"]


def compare(whole_url: str, streamed_url: str, kb_id: str, question: str) -> str:
    """Ask on both routes; say what came of it, and print what differs."""
    body = {"query": question, "kb_id": kb_id}
    whole = httpx.post(f"{whole_url}/api/chat/query", json=body, timeout=ASK_SECONDS).raise_for_status().json()
    response = httpx.post(f"{streamed_url}/api/chat/stream", json=body, timeout=ASK_SECONDS).raise_for_status()
    parts = read_parts(response.text)
    _, final = final_of(parts)
    differences = list(find_differences(whole, texts_of(parts), final))
    if differences:
        print("\n  ".join((repr(question), *differences)), flush=True)
        return "different"
    is_in_pieces = sum(part["type"] == "text-delta" for part in parts) > 1
    origin = "web" if "perplexity_search" in whole["used_tools"] else "learned" if whole["used_external_kb"] else "own"
    return f"equal, {'in pieces' if is_in_pieces else 'in one piece'} ({origin})"


def find_differences(whole: dict[str, Any], texts: Sequence[str], final: dict[str, Any]) -> Iterator[str]:
    """What differs between an answer that was sent whole and a streamed one, whose text is joined of its pieces."""
    if texts != [final.get("answer")]:
        yield f"the pieces make {texts!r}, the answer is {final.get('answer')!r}"
    for name in sorted({*whole, *final} - OF_ONE_RUN):
        if whole.get(name) != final.get(name):
            yield f"{name}: {whole.get(name)!r} whole, {final.get(name)!r} streamed"


if __name__ == "__main__":
    main()
