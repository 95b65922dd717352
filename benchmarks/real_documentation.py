"""Measures answers from real documentation: the right file cited first, and the answer in what is quoted.

    python benchmarks/real_documentation.py NAME=DIR… [--misses] [--data-dir DIR]

The questions are in benchmarks/data/real_documentation.jsonl: a question in a reader's own words, the files that
answer it, a string that the answer must hold, and where it stands (body, front matter, code, table or list). The
documentation is not part of this repository. NAME=DIR names the checked-out folder of each collection:

    hugo=content/en of https://github.com/gohugoio/hugoDocs
    mkdocs-material=docs of https://github.com/squidfunk/mkdocs-material
    python-packaging=source of https://github.com/pypa/packaging.python.org

Each is loaded with `gleaner ingest` as a knowledge base of its own, and asked over HTTP with strict grounding. With
--data-dir, what was loaded is kept, so that a further run loads only what has changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from harness.own_environment import without_remote_services
from harness.own_service import COMMAND, service

QUESTIONS = Path(__file__).resolve().parent / "data" / "real_documentation.jsonl"
BARS = {"right file first": 0.85, "answer quoted": 0.75}
ASK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a collection, the `files` that answer it, and what the answer must hold.

    `place` is the kind of text in which it stands in the first of the files.
    """

    collection: str
    question: str
    files: Sequence[str]
    holds: str
    place: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of an answer and the file of its first source, or ""."""

    text: str
    source: str


def read_questions() -> dict[str, list[Question]]:
    """The questions of each collection."""
    collections: dict[str, list[Question]] = defaultdict(list)
    with QUESTIONS.open(encoding="utf-8") as lines:
        for line in lines:
            question = Question(**json.loads(line))
            collections[question.collection].append(question)
    return dict(collections)


def ingest(data_dir: Path, name: str, directory: Path) -> float:
    """Load a directory as the knowledge base `name`; the seconds it took. Exits if nothing can be loaded."""
    command = [*COMMAND, "ingest", str(directory), "--kb-id", name, "--root", name, "--data-dir", str(data_dir)]
    start = time.monotonic()
    run = subprocess.run(command, env=without_remote_services(), capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):  # 1: some files could not be read
        raise SystemExit(f"{name} was not loaded:\n{run.stdout}{run.stderr}")
    return time.monotonic() - start


def ask(url: str, question: Question) -> Reply:
    """Ask one question. Raises httpx.HTTPStatusError if it is not answered."""
    body = {"query": question.question, "kb_id": question.collection, "grounding": "strict"}
    response = httpx.post(f"{url}/api/chat/query", json=body, timeout=ASK_SECONDS).raise_for_status().json()
    first = response["sources"][0]["source_file_path"] if response["sources"] else ""
    return Reply(response["answer"], (first or "").removeprefix(f"{question.collection}/"))


def measure(url: str, questions: Sequence[Question], *, misses: bool) -> Iterator[tuple[Question, bool, bool]]:
    """Yield each question with whether the right file comes first, and whether the answer is quoted."""
    for question in questions:
        reply = ask(url, question)
        is_first, is_quoted = reply.source in question.files, _plain(question.holds) in _plain(reply.text)
        if misses and not (is_first and is_quoted):
            wrong = " and ".join(["file"] * (not is_first) + ["quote"] * (not is_quoted))
            print(
                f"  [{question.place}; wrong {wrong}] {question.question} -> {reply.source}: {reply.text!r}", flush=True
            )
        yield question, is_first, is_quoted


def _plain(text: str) -> str:
    """The text without marks of code and with single spaces, in lower case: layout is no part of an answer."""
    return " ".join(text.replace("`", "").split()).casefold()


def print_shares(name: str, results: Sequence[tuple[Question, bool, bool]]) -> None:
    """Print a line of the shares of both kinds of success in percent."""
    shares = [sum(result[column] for result in results) / len(results) for column in (1, 2)]
    print(f"{name:<20}{len(results):>10}", *(f"{100 * share:>17.0f}" for share in shares), flush=True)


@contextmanager
def _directory(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
        return
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def _named_directory(text: str) -> tuple[str, Path]:
    name, _, directory = text.partition("=")
    if not Path(directory).is_dir() or not directory:
        raise argparse.ArgumentTypeError("must be NAME=DIR, with a directory that exists")
    return name, Path(directory)


def main() -> None:
    """Load and ask the given collections; print a line for each, for all, and for each place of answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("collections", metavar="NAME=DIR", nargs="+", type=_named_directory)
    parser.add_argument("--misses", action="store_true", help="print each failure")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="keep what was loaded in this directory")
    options = parser.parse_args()
    collections = read_questions()
    results: list[tuple[Question, bool, bool]] = []
    with _directory(options.data_dir) as data_dir, service(data_dir) as running:
        for name, directory in options.collections:
            print(f"{name} loaded in {ingest(data_dir, name, directory):.0f} s", flush=True)
        print(f"{'':<20}{'questions':>10}", *(f"{name:>17}" for name in BARS))
        for name, _ in options.collections:
            own = list(measure(running["url"], collections[name], misses=options.misses))
            print_shares(name, own)
            results += own
    print_places(results)


def print_places(results: Sequence[tuple[Question, bool, bool]]) -> None:
    """Print the shares for each place at which answers stand, and for all."""
    places: Mapping[str, list[tuple[Question, bool, bool]]] = defaultdict(list)
    for result in results:
        places[result[0].place].append(result)
    for place, part in sorted(places.items()):
        print_shares(place, part)
    print_shares("all", results)


if __name__ == "__main__":
    main()
