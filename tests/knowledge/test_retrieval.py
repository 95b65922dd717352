"""Stored web answers among the passages of a search on an empty knowledge base."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.clients.answer_index import AnswerIndex
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.clients.pinecone_hits import Hits, read_hits
from gleaner.knowledge.retrieval import Retrieval
from gleaner.model import Passage, SourceType, utc_now
from gleaner.runtime.deadline import Deadline
from tests.doubles.still_clock import StillClock
from tests.keyword_fixtures import Keywords, web_answer

KB = "empty_kb"


def make_retrieval(
    keywords: Keywords, knowledge_base: KnowledgeBase, answer_index: AnswerIndex | None = None
) -> Retrieval:
    """The retrieval over a keyword store and an index."""
    return Retrieval(
        knowledge_base,
        keywords.lookup,
        keywords.store,
        keywords.executor,
        web_answer_max_age=timedelta(days=30),
        answer_index=answer_index,
    )


@pytest.fixture
def retrieval(keywords: Keywords, index_host: str) -> Retrieval:
    return make_retrieval(keywords, pinecone.connect(host=index_host, api_key=lambda: "k"))


def learn(keywords: Keywords, query: str, *words: str, number: int = 0, **values: object) -> None:
    answer = web_answer(f"R{number}", kb_id=KB, query=query, **values)
    keywords.index(*words, query_id=f"Q{number:03}", kb_id=KB, answer=answer)


def search(retrieval: Retrieval, query: str, top_k: int = 5) -> tuple[Passage, ...]:
    return retrieval.search(KB, query, top_k=top_k, deadline=Deadline.after(20)).passages


@pytest.mark.parametrize(("seconds", "limit"), [(4.0, 2.0), (60.0, 5.0)])
def test_a_search_leaves_at_least_half_of_the_time(
    keywords: Keywords, still_clock: StillClock, seconds: float, limit: float
) -> None:
    limits: list[float] = []

    class Noting:
        def search(self, *_: object, timeout: float, **__: object) -> Hits:
            limits.append(timeout)
            return read_hits(())

        def search_ids(self, *_: object, timeout: float, **__: object) -> dict[str, float]:
            limits.append(timeout)
            return {}

    knowledge_base: Any = Noting()
    make_retrieval(keywords, knowledge_base).search(KB, "moors", top_k=5, deadline=Deadline.after(seconds))
    assert limits == [pytest.approx(limit)] * 2  # of the knowledge base, and of what was learned for it


def test_an_answer_has_what_is_needed_to_judge_and_cite_it(keywords: Keywords, retrieval: Retrieval) -> None:
    learn(keywords, "What is quantum computing used for?", "quantum computing", "chemistry")
    [passage] = search(retrieval, "uses of quantum computing")
    assert (passage.source_type, passage.content) == (SourceType.EXTERNAL, "It is used for chemistry.")
    assert passage.score > 0.7
    assert passage.keywords == ("quantum computing",)
    assert passage.date == utc_now().date().isoformat()
    assert passage.urls == ("https://q.example/a",)


def test_an_answer_that_shares_a_single_word_is_excluded(keywords: Keywords, retrieval: Retrieval) -> None:
    learn(keywords, "What is quantum computing used for?", "quantum computing")
    assert search(retrieval, "computing the area of a circle by integration") == ()


def test_the_answer_to_the_most_similar_question_comes_first(keywords: Keywords, retrieval: Retrieval) -> None:
    learn(keywords, "How do I delete a GitHub repository?", "GitHub repository", number=1)
    learn(keywords, "How do I rename a GitHub repository?", "GitHub repository", number=2)
    assert search(retrieval, "renaming my repository on GitHub")[0].key == "R2"


def test_an_old_answer_is_ignored(keywords: Keywords, retrieval: Retrieval) -> None:
    learn(keywords, "quantum computing", "quantum computing", created_at=utc_now() - timedelta(days=31))
    assert search(retrieval, "quantum computing") == ()


def test_an_answer_to_a_question_that_differs_is_withheld(keywords: Keywords, retrieval: Retrieval) -> None:
    text = "In 2025 the season ticket costs 310 crowns. [1]"
    learn(keywords, "What does a Kestrel season ticket cost in 2025?", "Kestrel season ticket", answer=text)
    result = retrieval.search(
        KB, "What does a Kestrel season ticket cost in 2026?", top_k=5, deadline=Deadline.after(20)
    )
    assert result.passages == ()
    assert result.withheld == {"number": 1}
    [passage] = search(retrieval, "What does a Kestrel season ticket cost in 2025?")
    assert passage.answers == "What does a Kestrel season ticket cost in 2025?"


def test_the_newest_answer_to_a_question_replaces_the_older_ones(keywords: Keywords, retrieval: Retrieval) -> None:
    now = utc_now()
    for number, days in enumerate((3, 1, 2)):
        created_at = now - timedelta(days=days)
        learn(
            keywords, "What is quantum computing used for?", "quantum computing", number=number, created_at=created_at
        )
    assert [passage.key for passage in search(retrieval, "uses of quantum computing")] == ["R1"]


def test_an_older_answer_does_not_stand_in_for_one_that_expired(keywords: Keywords, retrieval: Retrieval) -> None:
    question, now = "What does a Kestrel season ticket cost?", utc_now()
    learn(keywords, question, "Kestrel season ticket", number=1, created_at=now - timedelta(days=9))
    learn(
        keywords,
        question,
        "Kestrel season ticket",
        number=2,
        created_at=now - timedelta(days=2),
        valid_for_hours=24,
        answer="It costs 310 crowns. [1]",
    )
    result = retrieval.search(KB, question, top_k=5, deadline=Deadline.after(20))
    assert result.passages == ()
    assert result.expired is not None
    assert result.expired.key == "R2"
    assert result.withheld == {"time": 1, "superseded": 1}


def test_of_two_answers_from_one_search_the_newest_is_handed_out(keywords: Keywords, retrieval: Retrieval) -> None:
    learn(keywords, "What is quantum computing used for?", "quantum computing", answers="Uses of quantum computing")
    found = "What can quantum computing do in chemistry?"
    learn(keywords, "What is quantum computing used for?", "quantum computing", number=1, answers=found)
    result = retrieval.search(KB, "uses of quantum computing in chemistry", top_k=5, deadline=Deadline.after(20))
    assert [passage.key for passage in result.passages] == ["R1"]
    assert result.withheld == {"superseded": 1}


@pytest.mark.slow
def test_reads_are_bounded_when_a_keyword_has_many_answers(keywords: Keywords, retrieval: Retrieval) -> None:
    for number in range(40):
        word = f"b{'aeiou'[number // 10]}{'bdfgklmnrt'[number % 10]}o"
        learn(
            keywords,
            f"quantum computing and {word}",
            "quantum computing",
            f"quantum w{number}",
            number=number,
            answer=f"It is used for chemistry and {word}. [1]",
        )
    answer_reads: list[int] = []

    def count(params: dict[str, object], **_: object) -> None:
        keys = params["RequestItems"][keywords.table_name]["Keys"]  # type: ignore[index]
        answer_reads.append(sum(key["pk"]["S"].startswith("W#") for key in keys))

    keywords.client.meta.events.register("provide-client-params.dynamodb.BatchGetItem", count)
    passages = search(retrieval, "quantum computing", top_k=20)
    assert len(passages) == 3  # leaves room for chunks
    assert 0 < sum(answer_reads) <= 20
