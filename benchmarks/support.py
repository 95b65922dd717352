"""How well `support` tells statements that a passage holds from those that it does not.

    .venv/bin/python benchmarks/support.py DIRECTORY

DIRECTORY holds corpus.jsonl {id, text}, queries.jsonl {id, text} and qrels.tsv. Sentences of passages stand for an
answer's quotes, questions for an answer in other words; each is judged against its own passage, the next one in
the collection (often of the same article) and a random one, and sentences once more with a number changed.
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
_CHUNK = 900  # characters, about what a passage of a knowledge base holds
_SHORTEST = 40  # characters of a sentence that states something

Pair = tuple[str, str]  # a statement and the passage it is judged against


def read_lines(path: Path) -> dict[str, str]:
    """The texts of a .jsonl file, by id."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["text"] for row in rows}


def passage(content: str, name: str = "kb-1") -> Passage:
    """A passage as a search gives it."""
    return Passage(
        key=name, id=name, content=content, score=1.0, source_type=SourceType.KNOWLEDGE_BASE, title="", chapter=None
    )


def judge(pairs: Sequence[Pair]) -> Counter[Support]:
    """How often each verdict comes out."""
    return Counter(
        judge_support(f"{statement.rstrip('.?')} [kb-1].", [passage(content)])["kb-1"] for statement, content in pairs
    )


def paired(statements: Sequence[tuple[str, int]], texts: Sequence[str], choose: Callable[[int], int]) -> list[Pair]:
    """Each statement, which comes from the passage of its number, with the passage that `choose` gives."""
    return [(statement, texts[choose(number)]) for statement, number in statements]


def with_another_number(statement: str, content: str) -> str:
    """The statement with its first number raised to the next one whose digits its passage does not hold."""

    def another(number: re.Match[str]) -> str:
        return next(str(value) for value in itertools.count(int(number[0]) + 1) if str(value) not in content)

    return _WHOLE_NUMBER.sub(another, statement, count=1)


def milliseconds_an_answer(texts: Sequence[str], rounds: int = 60) -> float:
    """The median CPU time for an answer of four sentences from three passages of usual length."""
    taken = []
    for first in range(rounds):
        chosen = [passage(texts[(first + number) % len(texts)][:_CHUNK], f"kb-{number + 1}") for number in range(3)]
        answer = " ".join(f"{_SENTENCE.split(source.content)[0]} [{source.id}]" for source in (*chosen, chosen[0]))
        began = time.process_time()
        judge_support(answer, chosen)
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


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
        if len(sentence) >= _SHORTEST
    ]
    chance = random.Random(1)  # noqa: S311 - a sample that can be drawn again

    def own(number: int) -> int:
        return number

    def following(number: int) -> int:
        return (number + 1) % len(texts)

    def other(number: int) -> int:
        return (number + chance.randrange(1, len(texts))) % len(texts)

    changed = [
        (with_another_number(sentence, texts[number]), number)
        for sentence, number in sentences
        if _WHOLE_NUMBER.search(sentence)
    ]
    print(f"{'statement':<28}{'judged against':<18}{'n':>6}" + "".join(f"{verdict:>9}" for verdict in Support))
    for name, statements in (("sentences", sentences), ("questions", questions), ("a number changed", changed)):
        for where, choose in (("its own passage", own), ("the next passage", following), ("a random one", other)):
            verdicts = judge(paired(statements, texts, choose))
            shares = "".join(f"{verdicts[verdict] / len(statements):>9.1%}" for verdict in Support)
            print(f"{name:<28}{where:<18}{len(statements):>6}{shares}")
    print(f"\n{milliseconds_an_answer(texts):.2f} ms of CPU for four sentences from three passages (median)")


if __name__ == "__main__":
    main()
