"""Stored web answers are found by the meaning of the question that they answer, beside the keywords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gleaner.clients import pinecone
from gleaner.clients.answer_index import AnswerIndex
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import KnowledgeBaseUnavailable
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import Retrieval, RetrievalResult
from gleaner.model import Citation, Record, WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.answer_forgetting import AnswerForgetting
from gleaner.stores.keyword_items import KeywordUse
from tests.keyword_fixtures import Keywords, web_answer
from tests.knowledge.test_retrieval import make_retrieval
from tests.pruning.test_run import pruner, run

KB = "meaning_kb"
WRONG_PATH = "/nowhere"  # the index answers 404 there, which is no empty namespace


@pytest.fixture
def knowledge_base(index_host: str) -> Iterator[KnowledgeBase]:
    records = pinecone.connect(host=index_host, api_key=lambda: "k")
    yield records
    records.delete(f"{KB}.answers", list(records.list_ids(f"{KB}.answers", timeout=20)), timeout=20)


@pytest.fixture
def retrieval(keywords: Keywords, knowledge_base: KnowledgeBase) -> Retrieval:
    return make_retrieval(keywords, knowledge_base)


def learn(
    keywords: Keywords, records: KnowledgeBase, number: int, question: str, *names: str, page: Citation | None = None
) -> WebAnswer:
    values = {"citations": (page,)} if page else {}
    answer = web_answer(f"M{number}", kb_id=KB, query=question, answer=f"It is so, says page {number}.", **values)
    keywords.index(*names, query_id=f"Q{number:03}", kb_id=KB, answer=answer)
    Learning(keywords.store, AnswerIndex(records)).index_answer(answer, deadline=Deadline.after(20))
    return answer


def search(retrieval: Retrieval, query: str, top_k: int = 5) -> RetrievalResult:
    return retrieval.search(KB, query, top_k=top_k, deadline=Deadline.after(20))


def found(retrieval: Retrieval, query: str) -> list[str]:
    return [passage.key for passage in search(retrieval, query).passages]


def stored_ids(records: KnowledgeBase) -> list[str]:
    return list(records.list_ids(f"{KB}.answers", timeout=20))


def test_an_answer_is_found_without_any_of_its_keywords(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain")
    [passage] = search(retrieval, "bake sourdough bread").passages
    assert passage.key == "M1" and passage.keywords == ()
    assert len(passage.keyword_ids) == 1  # its use is counted, so that it is not pruned


def test_every_answer_under_a_general_keyword_is_found(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    towns = "Ystad Visby Oslo Riga Kiel Malmo Gdansk Turku Bergen Stavanger Hull Dover Calais Cork".split()
    for number, town in enumerate(towns):
        learn(keywords, knowledge_base, number, f"When does the ferry to {town} leave?", "ferry timetable")
    assert found(retrieval, "When does the ferry to Ystad depart?")[0] == "M0"  # the oldest of fourteen


def test_documents_and_stored_answers_do_not_see_each_other(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain")
    assert KB not in knowledge_base.record_counts(timeout=20)
    assert not any("answers" in name for name in knowledge_base.record_counts(timeout=20))
    assert not retrieval.has_knowledge_base(f"{KB}.answers", deadline=Deadline.after(20))
    assert knowledge_base.search(KB, "sourdough bread", top_k=5, timeout=20) == []


def test_an_answer_whose_keywords_are_pruned_is_served_again_once_they_are_restored(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    page = Citation(url="https://bread.example/", title="How to bake sourdough bread")
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain", page=page)
    [head] = keywords.heads()
    report = pruner(keywords).prune_one(head["keyword_id"], by="test", deadline=Deadline.after(20))
    assert report.counts.pruned == 1
    assert found(retrieval, "bake sourdough bread") == []
    pruner(keywords).restore_one(head["keyword_id"], deadline=Deadline.after(20))
    assert found(retrieval, "bake sourdough bread") == ["M1"]


def test_a_pruning_run_deletes_the_records_of_deleted_answers(
    keywords: Keywords, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain")
    learn(keywords, knowledge_base, 2, "How do I fry fish?", "fish frying")
    AnswerForgetting(keywords.table).forget("M1", by="admin", deadline=Deadline.after(20))
    run(keywords, answer_index=AnswerIndex(knowledge_base))
    assert stored_ids(knowledge_base) == ["M2"]


def test_a_search_deletes_the_record_of_an_answer_that_is_gone(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain")
    AnswerForgetting(keywords.table).forget("M1", by="admin", deadline=Deadline.after(20))
    assert found(retrieval, "bake sourdough bread") == []
    keywords.executor.shutdown()
    assert stored_ids(knowledge_base) == []


def test_a_write_that_failed_is_repaired_by_the_next_pruning_run(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase, index_host: str
) -> None:
    with pytest.raises(KnowledgeBaseUnavailable):
        learn(
            keywords,
            pinecone.connect(host=index_host + WRONG_PATH, api_key=lambda: "k"),
            1,
            "How to bake sourdough?",
            "levain",
        )
    assert found(retrieval, "bake sourdough") == []
    for _ in range(2):  # the second run has nothing to do
        run(keywords, answer_index=AnswerIndex(knowledge_base))
        assert stored_ids(knowledge_base) == ["M1"]
    assert found(retrieval, "bake sourdough") == ["M1"]
    assert not [item for item in keywords.items("ANSWER") if "queue" in item]


def test_keywords_find_answers_while_the_search_by_meaning_fails(
    keywords: Keywords, knowledge_base: KnowledgeBase, index_host: str
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "sourdough bread")
    broken = AnswerIndex(pinecone.connect(host=index_host + WRONG_PATH, api_key=lambda: "k"))
    result = search(make_retrieval(keywords, knowledge_base, answer_index=broken), "sourdough bread")
    assert [passage.key for passage in result.passages] == ["M1"] and not result.lookup_failed


@pytest.fixture
def private_answer(keywords: Keywords, knowledge_base: KnowledgeBase) -> WebAnswer:
    """An answer that only ann may find, under a keyword that no search here shares."""
    answer = web_answer("P1", kb_id=KB, query="How do I bake sourdough bread?", answer="In an oven.", owner="ann")
    use = KeywordUse(kb_id=KB, query_id="Q1", session_id="S", answer=answer, caller="ann", is_private=True)
    Learning(keywords.store).learn(["levain"], use, deadline=Deadline.after(20))
    Learning(keywords.store, AnswerIndex(knowledge_base)).index_answer(answer, deadline=Deadline.after(20))
    return answer


@pytest.mark.parametrize(("caller", "ids"), [("ann", ["P1"]), ("bob", []), (None, [])])
def test_only_its_owner_finds_a_private_answer_by_meaning(
    retrieval: Retrieval, private_answer: WebAnswer, caller: str | None, ids: list[str]
) -> None:
    result = retrieval.search(KB, "bake sourdough bread", top_k=5, deadline=Deadline.after(20), caller=caller)
    assert [passage.key for passage in result.passages] == ids


@pytest.mark.parametrize("owner", ["bob", None])
def test_the_table_decides_whose_an_answer_is(
    retrieval: Retrieval, knowledge_base: KnowledgeBase, private_answer: WebAnswer, owner: str | None
) -> None:
    AnswerIndex(knowledge_base).put(replace(private_answer, owner=owner), timeout=20)
    result = retrieval.search(KB, "bake sourdough bread", top_k=5, deadline=Deadline.after(20), caller=owner)
    assert result.passages == ()


def test_a_doubtful_answer_keeps_its_record_for_when_it_is_approved(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain")
    doubt = keywords.table.update(
        schema.answer_key("M1"), expression="SET #doubters = :two", condition="", values={":two": {"ann", "bob"}}
    )
    keywords.table.transact([doubt], deadline=Deadline.after(20))
    assert found(retrieval, "bake sourdough bread") == []
    keywords.executor.shutdown()
    assert stored_ids(knowledge_base) == ["M1"]


def test_a_record_of_another_program_in_the_namespace_is_ignored(
    retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    record = Record(id="x#0", text="sourdough", title="t", source_file_path="", chunk_index=0, content_hash="")
    knowledge_base.upsert(f"{KB}.answers", [record], timeout=20)
    assert found(retrieval, "sourdough") == []


def test_a_keyword_that_the_answer_does_not_mention_is_no_reason_to_serve_it(
    keywords: Keywords, retrieval: Retrieval, knowledge_base: KnowledgeBase
) -> None:
    learn(keywords, knowledge_base, 1, "How do I bake sourdough bread?", "levain", "password reset")
    assert found(retrieval, "password reset") == []
