"""Measures answers in thirteen languages: the passage found, the sentence quoted, refusals, and learned answers.

    python benchmarks/languages.py [--language CODE…] [--misses]

The documents and questions are in benchmarks/language_questions. Each language is a knowledge base of its own, searched
through the embedded index; the extractive model answers from the five best passages. An unrelated question is refused
if the answer cites nothing. Learned answers are stored with the keywords of the service and looked up for another
question, in a knowledge base without documents: the share of those found first.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex
from harness.keyword_learning import Thread, find_learned
from harness.keyword_tables import Database, database
from harness.language_questions import LANGUAGES, LanguageQuestions, read_questions

TOP_K = 5
BARS = {"passage first": 0.9, "sentence quoted": 0.8, "refused": 0.85}


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer's text, the title of its first source or None, and the title of the best passage."""

    text: str
    source: str | None
    best_title: str


class Answering:
    """Answers questions from the documents of one language."""

    def __init__(self, index: EmbeddedIndex, model: ExtractiveModel, language: LanguageQuestions) -> None:
        self._index = index
        self._model = model
        self._namespace = language.language
        records = [
            (title, {"text": document, "title": title, "chapter": title})
            for title, document in language.documents.items()
        ]
        index.upsert(self._namespace, records)

    def ask(self, question: str) -> Reply:
        """Search, and let the extractive model answer without the web."""
        hits = self._index.search(self._namespace, question, top_k=TOP_K)
        chunks = [
            {"id": f"kb-{n}", "content": hit.fields["text"], "score": round(hit.score, 4), "title": hit.id}
            for n, hit in enumerate(hits, 1)
        ]
        call = {"id": "1", "function": {"name": SEARCH, "arguments": "{}"}}
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": question},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": json.dumps({"chunks": chunks}, ensure_ascii=False)},
        ]
        [reply] = self._model.next_calls(messages, [ANSWER])
        arguments = json.loads(reply.arguments)
        titles = {chunk["id"]: chunk["title"] for chunk in chunks}
        sources = [titles[source] for source in arguments["sources"]]
        return Reply(arguments["answer"], sources[0] if sources else None, hits[0].id if hits else "")


def measure(answering: Answering, language: LanguageQuestions, *, misses: bool) -> dict[str, float]:
    """The share of each kind of success, and on request a line for each failure."""
    results: dict[str, list[bool]] = {name: [] for name in BARS}
    for item in language.answerable:
        reply = answering.ask(item.question)
        results["passage first"].append(item.title in (reply.source, reply.best_title))
        results["sentence quoted"].append(item.sentence in reply.text)
        if misses and not (results["passage first"][-1] and results["sentence quoted"][-1]):
            print(f"  {item.question} -> {reply.best_title}: {reply.text!r}")
    for question in language.unrelated:
        reply = answering.ask(question)
        results["refused"].append(reply.source is None)
        if misses and reply.source is not None:
            print(f"  {question} -> {reply.text!r}")
    return {name: sum(values) / len(values) for name, values in results.items()}


def measure_learned(running: Database, language: LanguageQuestions, *, misses: bool) -> float:
    """The share of paraphrases that find their learned answer first."""
    threads = [
        Thread(id=f"W{n}", title=item.title, text=item.answer, questions=(item.question, item.paraphrase))
        for n, item in enumerate(language.learned)
    ]
    found = find_learned(running, f"languages-{language.language}", threads)
    if misses:
        for thread, keys in zip(threads, found, strict=True):
            if keys[:1] != [thread.id]:
                print(f"  {thread.questions} -> {keys}")
    return sum(keys[:1] == [thread.id] for thread, keys in zip(threads, found, strict=True)) / len(threads)


def main() -> None:
    """Print one line of figures for each language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--language", choices=LANGUAGES, nargs="+", default=LANGUAGES)
    parser.add_argument("--misses", action="store_true", help="print each failure")
    options = parser.parse_args()
    print("language", *(f"{name:>16}" for name in (*BARS, "learned found")))
    with tempfile.TemporaryDirectory() as directory, database() as running:
        index = EmbeddedIndex.open(Path(directory))
        model = ExtractiveModel(Judge.installed())
        for code in options.language:
            language = read_questions(code)
            figures = measure(Answering(index, model, language), language, misses=options.misses)
            learned = measure_learned(running, language, misses=options.misses)
            print_line(code, [*figures.values(), learned])
        index.close()


def print_line(code: str, figures: Sequence[float]) -> None:
    """Print the figures of a language in percent."""
    print(f"{code:<8}", *(f"{100 * figure:>16.0f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
