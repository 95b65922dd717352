"""Measures how well `support` distinguishes statements that a passage supports from those that it does not.

    .venv/bin/python benchmarks/support.py DIRECTORY

DIRECTORY holds corpus.jsonl {id, text}, queries.jsonl {id, text} and qrels.tsv. Sentences of passages serve as quotes,
questions as an answer in other words. Each is judged against its own passage, the next one in the collection (often of
the same article) and a random one. Sentences are judged once more with a number changed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from gleaner.guards.support import judge_support
from gleaner.model import Passage, SourceType, Support

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WHOLE_NUMBER = re.compile(r"(?<=[ (])\d{1,9}(?=[ ),;:?!]|\.$)")
_MAX_CHARACTERS = 900  # of a passage, about as in a knowledge base
_MIN_CHARACTERS = 40  # of a sentence that makes a statement

Pair = tuple[str, str]  # a statement and the passage it is judged against


def read_lines(path: Path) -> dict[str, str]:
    """The texts of a .jsonl file, by id."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["text"] for row in rows}


def passage(content: str, name: str = "kb-1") -> Passage:
    """A passage as a search returns it."""
    return Passage(
        key=name, id=name, content=content, score=1.0, source_type=SourceType.KNOWLEDGE_BASE, title="", chapter=None
    )


def judge(pairs: Sequence[Pair]) -> Counter[Support]:
    """Count the verdicts."""
    return Counter(
        judge_support(f"{statement.rstrip('.?')} [kb-1].", [passage(content)])["kb-1"] for statement, content in pairs
    )


def pair_up(statements: Sequence[tuple[str, int]], texts: Sequence[str], choose: Callable[[int], int]) -> list[Pair]:
    """Pair each statement with the passage that `choose` returns for the number of its own."""
    return [(statement, texts[choose(number)]) for statement, number in statements]


def change_number(statement: str, content: str) -> str:
    """Raise the first number of the statement to the next one whose digits its passage does not contain."""

    def next_absent(number: re.Match[str]) -> str:
        return next(str(value) for value in itertools.count(int(number[0]) + 1) if str(value) not in content)

    return _WHOLE_NUMBER.sub(next_absent, statement, count=1)


def milliseconds_an_answer(texts: Sequence[str], rounds: int = 60) -> float:
    """The median CPU time for an answer of four sentences from three passages of usual length."""
    times = []
    for first in range(rounds):
        passages = [
            passage(texts[(first + number) % len(texts)][:_MAX_CHARACTERS], f"kb-{number + 1}") for number in range(3)
        ]
        answer = " ".join(f"{_SENTENCE.split(source.content)[0]} [{source.id}]" for source in (*passages, passages[0]))
        start = time.process_time()
        judge_support(answer, passages)
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    corpus, queries = read_lines(directory / "corpus.jsonl"), read_lines(directory / "queries.jsonl")
    numbers, texts = {name: number for number, name in enumerate(corpus)}, list(corpus.values())
    with (directory / "qrels.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    questions = [(queries[row["query_id"]], numbers[row["doc_id"]]) for row in rows]
    sentences = [
        (sentence, number)
        for number, content in enumerate(texts)
        for sentence in _SENTENCE.split(content)
        if len(sentence) >= _MIN_CHARACTERS
    ]
    chance = random.Random(1)  # noqa: S311 - a reproducible sample

    def own(number: int) -> int:
        return number

    def following(number: int) -> int:
        return (number + 1) % len(texts)

    def other(number: int) -> int:
        return (number + chance.randrange(1, len(texts))) % len(texts)

    changed = [
        (change_number(sentence, texts[number]), number)
        for sentence, number in sentences
        if _WHOLE_NUMBER.search(sentence)
    ]
    print(f"{'statement':<28}{'judged against':<18}{'n':>6}" + "".join(f"{verdict:>9}" for verdict in Support))
    for name, statements in (("sentences", sentences), ("questions", questions), ("a number changed", changed)):
        for where, choose in (("its own passage", own), ("the next passage", following), ("a random one", other)):
            verdicts = judge(pair_up(statements, texts, choose))
            shares = "".join(f"{verdicts[verdict] / len(statements):>9.1%}" for verdict in Support)
            print(f"{name:<28}{where:<18}{len(statements):>6}{shares}")
    print(f"\n{milliseconds_an_answer(texts):.2f} ms of CPU for four sentences from three passages (median)")


if __name__ == "__main__":
    main()
