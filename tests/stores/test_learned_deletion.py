"""Deleting what a session or a caller taught: completeness, what others taught, interruptions and concurrency."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from gleaner.errors import AnswerForgotten
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.learned_deletion import LearnedCounts, LearnedDeletion
from tests.keyword_fixtures import Keywords, web_answer

ANN, BOB = "ann", "bob"


def teach(keywords: Keywords, *names: str, caller: str = ANN, number: int = 1, **use: Any) -> None:
    """Teach keywords and the answer R<number>, in the query Q<number> of the caller's session `S-<caller>`."""
    answer = web_answer(f"R{number}", kb_id=use.get("kb_id", "default_kb"))
    values = {"session_id": f"S-{caller}", "answer": answer, "caller": caller} | use
    keywords.index(*names, query_id=f"Q{number}", **values)


def delete(
    keywords: Keywords, caller: str = ANN, *, session_id: str | None = None, with_shared: bool = True
) -> tuple[int, int]:
    """The numbers of deleted keywords and answers."""
    counts = LearnedCounts()
    LearnedDeletion(keywords.table).delete(
        caller, counts, session_id=session_id, with_shared=with_shared, deadline=Deadline.after(30)
    )
    return counts.keywords, counts.answers


def texts(keywords: Keywords) -> set[str]:
    return {item["keyword_text"] for item in keywords.heads()}


def results(keywords: Keywords, query: str, kb_id: str = "default_kb", caller: str | None = None) -> set[str]:
    matches = keywords.lookup.find(kb_id, query, caller=caller, deadline=Deadline.after(20))
    return {result_id for match in matches for result_id in match.result_ids}


def prune_one(keywords: Keywords, name: str) -> None:
    [head] = [item for item in keywords.heads() if item["keyword_text"] == name]
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=1))
    pruner.prune_one(head["keyword_id"], by="test", deadline=Deadline.after(20))


@pytest.mark.parametrize("is_compact", [True, False])
def test_no_spelling_is_left_of_a_keyword_that_several_name(keywords: Keywords, is_compact: bool) -> None:
    keywords.write_compactly(is_compact)
    for number, spelling in enumerate(("my ferry ticket", "My Ferry Ticket", "MY FERRY TICKET", "ferry tickets")):
        teach(keywords, spelling, number=number)
    delete(keywords)
    assert "erry" not in str(keywords.items()) and "ERRY" not in str(keywords.items())


def test_what_only_one_caller_taught_is_deleted_completely(keywords: Keywords) -> None:
    teach(keywords, "quantum computing", "chemistry", "Straße der Physik")
    teach(keywords, "quantum computing", number=2, kb_id="physics")
    teach(keywords, "quantum computing", "optics", number=3, is_private=True)
    assert delete(keywords) == (4, 3)
    left = keywords.items()
    assert keywords.words() == []
    # Answers are emptied, as marks for queries that still run, and the keys of empty lists are hashes.
    assert {item["sk"] for item in left} == {"ANSWER", "POSTINGS"}
    assert not any(word in str(left) for word in ("quantum", "chemistry", "optics", "q.example"))
    assert delete(keywords) == (0, 0)


def test_what_others_taught_stays(keywords: Keywords) -> None:
    teach(keywords, "quantum computing", "chemistry")
    teach(keywords, "quantum computing", "optics", caller=BOB, number=2)
    assert delete(keywords) == (1, 1)
    assert texts(keywords) == {"quantum computing", "optics"}
    assert results(keywords, "quantum computing") == {"R2"}
    [head] = [item for item in keywords.heads() if item["keyword_text"] == "quantum computing"]
    assert head["callers"] == {BOB}
    assert delete(keywords, BOB) == (2, 1)
    assert texts(keywords) == set()


def test_a_keyword_is_no_longer_found_where_only_the_caller_taught_it(keywords: Keywords) -> None:
    teach(keywords, "quantum computing", kb_id="physics")
    teach(keywords, "quantum computing", caller=BOB, number=2)
    delete(keywords)
    assert (keywords.find("quantum", "physics"), keywords.find("quantum")) == ([], ["quantum computing"])
    teach(keywords, "quantum computing", caller=BOB, number=3, kb_id="physics")
    assert results(keywords, "quantum", "physics") == {"R3"}


def test_a_session_takes_private_answers_along_and_the_words_of_shared_ones(keywords: Keywords) -> None:
    teach(keywords, "quantum computing")
    teach(keywords, "chemistry", number=2, is_private=True)
    teach(keywords, "optics", number=3, is_private=True, session_id="another")
    assert delete(keywords, session_id=f"S-{ANN}", with_shared=False) == (1, 1)
    assert results(keywords, "quantum computing") == {"R1"}
    [answer] = keywords.store.get_answers(["R1"], deadline=Deadline.after(20))
    assert (answer.query, answer.answer) == ("", "It is used for chemistry. [1]")
    assert results(keywords, "optics", caller=ANN) == {"R3"}
    teach(keywords, "physics")  # a query that still runs does not bring the words back
    assert keywords.store.get_answers(["R1"], deadline=Deadline.after(20))[0].query == ""
    assert delete(keywords) == (3, 2)


def test_a_session_takes_shared_answers_along_where_the_setting_says_so(keywords: Keywords) -> None:
    teach(keywords, "quantum computing")
    teach(keywords, "quantum computing", "optics", number=2, session_id="another")
    assert delete(keywords, session_id=f"S-{ANN}") == (0, 1)
    assert results(keywords, "quantum computing") == {"R2"}
    assert delete(keywords, session_id="another") == (2, 1)


def test_pruned_and_restored_keywords_are_deleted(keywords: Keywords) -> None:
    teach(keywords, "quantum computing", "chemistry")
    prune_one(keywords, "quantum computing")
    assert delete(keywords) == (2, 1)
    assert (texts(keywords), keywords.items("K#")) == (set(), [])


def test_keywords_of_earlier_versions_stay(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    teach(keywords, "quantum computing", number=2)
    assert delete(keywords) == (0, 1)
    assert results(keywords, "quantum computing") == {"R1"}


def test_a_much_used_keyword_is_deleted_in_several_steps(keywords: Keywords) -> None:
    teach(keywords, "quantum computing")
    [keyword] = keywords.heads()
    for number in range(120):
        key = schema.query_use_key(keyword["keyword_id"], f"{number:03d}")
        keywords.table.put_new(key | {"kb_id": "default_kb", "status": "active"}, deadline=Deadline.after(20))
    assert delete(keywords) == (1, 1)
    assert keywords.items("U#") == []


@pytest.mark.parametrize("pruned", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_interrupted_deletion_is_resumed(keywords: Keywords, pruned: bool) -> None:
    """The process is killed before each write in turn."""
    for kill_before in range(6):
        teach(keywords, "quantum computing", "chemistry", number=10 + kill_before)
        teach(keywords, "quantum computing", caller=BOB, number=20 + kill_before)
        if pruned:
            prune_one(keywords, "chemistry")
        _kill_before(keywords, kill_before)
        delete(keywords)
        assert texts(keywords) == {"quantum computing"}
        assert results(keywords, "quantum chemistry") == {f"R{20 + n}" for n in range(kill_before + 1)}
        assert not [item for item in keywords.items() if item["pk"] == f"C#{ANN}"]


def test_a_deletion_is_exact_while_others_learn(keywords: Keywords) -> None:
    teach(keywords, "quantum computing", "chemistry", "optics")

    def learn(number: int) -> None:
        caller = ANN if number % 2 else BOB
        try:
            teach(keywords, "quantum computing", "chemistry", caller=caller, number=number)
        except AnswerForgotten:
            return

    with ThreadPoolExecutor(8) as threads:
        learning = [threads.submit(learn, number) for number in range(10, 22)]
        deleting = [threads.submit(delete, keywords) for _ in range(2)]
        for future in (*learning, *deleting):
            future.result()
    delete(keywords)
    assert texts(keywords) == {"quantum computing", "chemistry"}
    assert {item["caller"] for item in keywords.associations()} == {BOB}
    for query in ("quantum computing", "chemistry"):
        assert results(keywords, query) == {f"R{number}" for number in range(10, 22, 2)}


def _kill_before(keywords: Keywords, write: int) -> None:
    count = 0

    def interrupt(**_: Any) -> None:
        nonlocal count
        if count == write:
            raise KeyboardInterrupt
        count += 1

    event = "before-parameter-build.dynamodb.TransactWriteItems"
    keywords.client.meta.events.register(event, interrupt, unique_id="interrupt")
    try:
        delete(keywords)
    except KeyboardInterrupt:
        return
    finally:
        keywords.client.meta.events.unregister(event, unique_id="interrupt")


def test_what_is_archived_holds_no_text_of_a_question(keywords: Keywords) -> None:
    question = web_answer().query
    teach(keywords, "quantum computing", "chemistry")
    prune_one(keywords, "chemistry")
    assert keywords.store.get_answers(["R1"], deadline=Deadline.after(20))[0].query == question
    prune_one(keywords, "quantum computing")
    assert question not in str(keywords.items())
    [head] = [item for item in keywords.heads() if item["keyword_text"] == "chemistry"]
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=1))
    assert pruner.restore_one(head["keyword_id"], deadline=Deadline.after(20))
    assert results(keywords, "chemistry") == {"R1"}


def test_keywords_pruned_at_the_same_time_leave_no_text(keywords: Keywords) -> None:
    names = [f"topic number{number}" for number in range(6)]
    teach(keywords, *names)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda name: prune_one(keywords, name), names))
    assert web_answer().query not in str(keywords.items())
