"""Measures how well questions find the answer that another question for the same thing learned from the web."""

from __future__ import annotations

import csv
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gleaner.clients import pinecone
from gleaner.clients.answer_index import AnswerIndex
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.knowledge import learning
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import Retrieval
from gleaner.model import Citation, Passage, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.keywords import KeywordStore
from gleaner_local.extractive import keywords as extractive
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.pinecone_server import create_app
from harness.keyword_tables import Database, print_table

TOP_K = 5
GOOD_SCORE = 0.5  # of a chunk that answers the question; see the decision on the embedded index
MAX_AGE = timedelta(days=30)
SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Something that several questions ask for. The first question goes to the web."""

    id: str
    title: str
    text: str
    questions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Taught:
    """A knowledge base without documents that has learned something."""

    kb_id: str
    retrieval: Retrieval

    def passages(self, question: str) -> Sequence[Passage]:
        """The passages for a question, best first."""
        deadline = Deadline.after(SECONDS)
        return self.retrieval.search(self.kb_id, question, top_k=TOP_K, deadline=deadline).passages


KEYWORD_MAKERS: Mapping[str, Callable[[WebAnswer], list[str]]] = {
    "service": learning.extract_keywords,
    "extractive model": lambda answer: extractive.extract_keywords(
        answer.query, [citation.title for citation in answer.citations], answer.answer
    ),
}


def measure_learning(database: Database, directory: Path) -> None:
    """Print how often the right stored answer is found, for each maker of keywords.

    Real web results carry the titles of their pages, so citations have the thread's title; the second half of the
    lines omits it. The knowledge base is empty. In the lines "not learned", the questions of one half of the threads
    search what the other half taught, so that every result is wrong.
    """
    threads = _read(directory)
    halves = threads[0::2], threads[1::2]
    rows = []
    with _empty_knowledge_base() as knowledge_base:
        for titled in (True, False):
            for maker in KEYWORD_MAKERS:
                name = f"learning-{directory.name}-{maker.split()[0]}-{titled}".lower()
                kind = (maker, "with title" if titled else "no title")
                taught_all = _learn(database, knowledge_base, name, threads, maker, titled=titled)
                rows.append((*kind, "learned", *_figures(taught_all, threads)))
                taught_half = _learn(database, knowledge_base, f"{name}-half", halves[0], maker, titled=titled)
                rows.append((*kind, "not learned", *_figures(taught_half, halves[1])))
    columns = ("keywords by", "citation", "questions", "asked", "right in %", "right first %", "wrong alone %")
    print_table(
        f"Learning: {directory.name}, {len(threads)} answers, {TOP_K} passages asked for",
        (*columns, "none %", f"best score >= {GOOD_SCORE} %", "passages"),
        rows,
    )


def find_learned(database: Database, name: str, threads: Sequence[Thread]) -> list[list[str]]:
    """The ids of the answers found for the last question of each thread, in an empty knowledge base, best first."""
    with _empty_knowledge_base() as knowledge_base:
        taught = _learn(database, knowledge_base, name, threads, "service", titled=True)
        return [[passage.key for passage in taught.passages(thread.questions[-1])] for thread in threads]


def _learn(
    database: Database,
    knowledge_base: KnowledgeBase,
    name: str,
    threads: Sequence[Thread],
    maker: str,
    *,
    titled: bool,
) -> Taught:
    """Learn the threads' answers in a knowledge base of this name."""
    table = database.keywords_table(name)
    layout = KeywordLayout(table)
    store, answer_index = KeywordStore(table, layout), AnswerIndex(knowledge_base)
    learner = Learning(store, answer_index)
    for thread in threads:
        answer = WebAnswer(
            result_id=thread.id,
            kb_id=name,
            query=thread.questions[0],
            answer=thread.text,
            citations=(Citation(url=f"https://web.example/{thread.id}", title=thread.title if titled else ""),),
            model="web",
            created_at=utc_now(),
        )
        use = KeywordUse(kb_id=name, query_id=f"Q-{thread.id}", session_id=None, answer=answer)
        learner.learn(KEYWORD_MAKERS[maker](answer), use, deadline=Deadline.after(SECONDS))
        learner.index_answer(answer, deadline=Deadline.after(SECONDS))
    lookup = KeywordLookup(table, database.executor, layout)
    return Taught(
        name,
        Retrieval(
            knowledge_base, lookup, store, database.executor, web_answer_max_age=MAX_AGE, answer_index=answer_index
        ),
    )


def _figures(taught: Taught, threads: Sequence[Thread]) -> tuple[object, ...]:
    """The quality of the passages for all questions but the first of each thread, in percent of these questions."""
    questions = [(question, thread.id) for thread in threads for question in thread.questions[1:]]
    results = [(right, taught.passages(question)) for question, right in questions]

    def share(count: int) -> float:
        return 100 * count / len(questions)

    return (
        len(questions),
        share(sum(right in [p.key for p in passages] for right, passages in results)),
        share(sum(bool(passages) and passages[0].key == right for right, passages in results)),
        share(sum(bool(passages) and right not in [p.key for p in passages] for right, passages in results)),
        share(sum(not passages for _, passages in results)),
        share(sum(bool(passages) and passages[0].score >= GOOD_SCORE for _, passages in results)),
        sum(len(passages) for _, passages in results) / len(questions),
    )


def _read(directory: Path) -> list[Thread]:
    questions: dict[str, list[str]] = defaultdict(list)
    texts = {line["id"]: line["text"] for line in _lines(directory / "queries.jsonl")}
    with (directory / "qrels.tsv").open(encoding="utf-8") as lines:
        rows = csv.reader(lines, delimiter="\t")
        next(rows)
        for query, document, _ in rows:
            questions[document].append(texts[query])
    return [
        Thread(id=line["id"], title=line["title"], text=line["text"], questions=questions[line["id"]])
        for line in _lines(directory / "corpus.jsonl")
        if line["id"] in questions
    ]


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@contextmanager
def _empty_knowledge_base() -> Iterator[KnowledgeBase]:
    with tempfile.TemporaryDirectory() as directory:
        index = EmbeddedIndex.open(Path(directory))
        index.search("none", "loads the weights", top_k=1)
        server = AsgiServer(create_app(index))
        server.start()
        try:
            yield pinecone.connect(host=server.url, api_key=lambda: "local")
        finally:
            server.stop()
            index.close()
