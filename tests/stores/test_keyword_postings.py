"""Posting lists: what fits, what does not, and keywords of the versions before them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.pruning.rules import PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.answer_forgetting import AnswerForgetting
from gleaner.stores.keyword_items import ASSOCIATIONS_PER_KEYWORD
from gleaner.stores.keyword_moving import PostingMover
from gleaner.stores.keyword_postings import MAX_POSTINGS, Posting
from gleaner.stores.learned_deletion import LearnedCounts, LearnedDeletion
from tests.keyword_fixtures import Keywords, web_answer

RULES = PruneRules(max_age_days=90, min_usage=3, hard_max_age_days=365)


def run(keywords: Keywords) -> int:
    """Run pruning; returns how many keywords of earlier versions it moved."""
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=7))
    report = pruner.run(RULES, by="test", dry_run=False, deadline=Deadline.after(60))
    assert report.finished and report.counts.pruned == 0
    return report.counts.moved


def prune(keywords: Keywords, keyword_id: str) -> None:
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=7))
    assert pruner.prune_one(keyword_id, by="test", deadline=Deadline.after(20)).counts.pruned == 1


def restore(keywords: Keywords, keyword_id: str) -> None:
    pruner = Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=7))
    assert pruner.restore_one(keyword_id, deadline=Deadline.after(20))


def fill_list(keywords: Keywords) -> list[str]:
    """Fill the list of stems that begin with "alp"."""
    names = [f"alpha w{number}" for number in range(MAX_POSTINGS + 2)]
    for start in range(0, len(names), 10):
        keywords.index(*names[start : start + 10], query_id=f"F{start}")
    return names


def head(keywords: Keywords, name: str) -> dict[str, Any]:
    [found] = [item for item in keywords.heads() if item["keyword_text"] == name]
    return found


def operations(keywords: Keywords) -> Counter[str]:
    """Counts requests from now on."""
    requests: Counter[str] = Counter()
    keywords.client.meta.events.register("before-call.dynamodb", lambda model, **_: requests.update([model.name]))
    return requests


@given(
    stem=st.text(min_size=1),
    term_count=st.integers(1, 16),
    keyword=st.text().map(schema.keyword_id),
)
def test_a_posting_is_read_as_it_was_written(stem: str, term_count: int, keyword: str) -> None:
    posting = Posting(stem, term_count, keyword)
    assert Posting.decode(posting.encode()) == posting


def test_keywords_that_are_learned_together_write_each_list_once(keywords: Keywords) -> None:
    keywords.index("quantum computing", "quantum chemistry", "quantized computers")
    lists = Counter(pk for pk, _ in keywords.words())
    assert sorted(lists.values()) == [1, 2, 3]
    assert {pk[:2] for pk in lists} == {"I#"}


def test_what_a_full_list_does_not_take_is_found_pruned_restored_and_deleted(keywords: Keywords) -> None:
    fill_list(keywords)
    late = "alpha late comer"
    [indexed] = keywords.index(late, query_id="L", answer=web_answer("R1"), caller="ann")
    before = keywords.words()
    assert sorted(pk for pk, one in before if one.keyword_id == indexed.keyword_id and pk.startswith("T#")) == [
        "T#default_kb#alp",
        "T#default_kb#alpha late",
    ]
    assert (keywords.find("alpha late")[0], keywords.find("late")) == (late, [late])
    assert late in keywords.find("alpha late comer")
    prune(keywords, indexed.keyword_id)
    assert keywords.find("late") == []
    assert not [one for _, one in keywords.words() if one.keyword_id == indexed.keyword_id]
    restore(keywords, indexed.keyword_id)
    assert sorted(map(str, keywords.words())) == sorted(map(str, before))
    assert keywords.find("alpha late")[0] == late
    LearnedDeletion(keywords.table).delete(
        "ann", LearnedCounts(), session_id=None, with_shared=True, deadline=Deadline.after(20)
    )
    assert "late" not in str(keywords.items())


def test_long_stems_of_a_full_list_are_found_without_a_query_and_short_ones_with_one(keywords: Keywords) -> None:
    names = [f"quan{chr(97 + n // 26)}{chr(97 + n % 26)}x mass" for n in range(MAX_POSTINGS + 20)]
    for start in range(0, len(names), 10):
        keywords.index(*names[start : start + 10], query_id=f"Q{start}", answer=web_answer(f"R{start}"))
    keywords.index("quancx", query_id="R", answer=web_answer("R"))  # a stem of six letters
    requests = operations(keywords)
    for name in (*names[-2:], "quancx"):
        assert keywords.find(name.split()[0]) == [name]
    assert requests == {"BatchGetItem": 2 * 3}
    requests.clear()
    assert "quancx" in keywords.find("quanc")
    assert requests == {"BatchGetItem": 2, "Query": 1}


def test_a_restart_does_not_lose_that_a_list_is_full(keywords: Keywords) -> None:
    names = fill_list(keywords)
    for number in range(3):  # each by a new store, which knows of no list
        keywords.index(f"alphabet n{number}", query_id=f"N{number}")
    assert set(keywords.find("alphabet")) == {f"alphabet n{number}" for number in range(3)}
    assert keywords.find(names[-1])[0] == names[-1]


def test_a_process_remembers_a_full_list(keywords: Keywords) -> None:
    fill_list(keywords)
    store = keywords.store
    requests: list[int] = []
    for number in range(3):
        counted = operations(keywords)
        use = {"kb_id": "default_kb", "session_id": None, "answer": None, "query_id": f"N{number}"}
        store.index([f"alphabet n{number}"], keywords.use(**use), deadline=Deadline.after(20))
        requests.append(counted["TransactWriteItems"])
    assert requests == [2, 1, 1]  # the first takes the list to have room


def test_a_short_stem_finds_the_longer_ones_of_its_list_and_none_of_others(keywords: Keywords) -> None:
    keywords.index("quantum chemistry", "quantization noise", "ox cart", "oxygen", "c# compiler")
    assert keywords.find("quantiz") == ["quantization noise"]
    assert set(keywords.find("quan")) == {"quantum chemistry", "quantization noise"}
    assert keywords.find("c#") == ["c# compiler"]
    assert keywords.find("ox") == ["ox cart"]


@pytest.mark.parametrize(
    "text", ["quantum computing", "港口图书馆开放时间", "Öffnungszeiten der Bibliothek", "machine learning"]
)
def test_a_keyword_of_an_earlier_version_is_found_and_moved(keywords: Keywords, text: str) -> None:
    keywords.index_by_entries(text, answer=web_answer("R1"))
    assert keywords.find(text) == [text]
    assert run(keywords) == 1
    moved = keywords.words()
    assert {pk[:2] for pk, _ in moved} == {"I#"}
    assert keywords.find(text) == [text]
    assert (run(keywords), keywords.words()) == (0, moved)
    requests = operations(keywords)
    [match] = keywords.lookup.find("default_kb", text, deadline=Deadline.after(20))
    # The head of a keyword that was moved names no answers: they are queried.
    assert (match.result_ids, requests) == (("R1",), {"BatchGetItem": 2, "Query": 1})


def test_a_keyword_of_an_earlier_version_is_moved_in_all_its_knowledge_bases_and_past_full_lists(
    keywords: Keywords,
) -> None:
    fill_list(keywords)
    for number, kb_id in enumerate(("default_kb", "physics")):
        answer = web_answer(f"R{number}", kb_id=kb_id)
        keywords.index_in_the_former_form("alpha decay", query_id=f"Q{number}", kb_id=kb_id, answer=answer)
    keywords.index_by_entries("beta decay", answer=web_answer("R5"), query_id="Q5")
    keywords.make_former("alpha decay", ["default_kb", "physics"])
    assert (keywords.find("decay alpha", "physics"), keywords.find("decay")) == (
        ["alpha decay"],
        ["alpha decay", "beta decay"],
    )
    assert run(keywords) == 2
    assert keywords.find("decay alpha", "physics") == ["alpha decay"]
    assert keywords.find("alpha decay")[0] == "alpha decay" and set(keywords.find("decay")) == {
        "alpha decay",
        "beta decay",
    }
    keyword_id = head(keywords, "alpha decay")["keyword_id"]
    prune(keywords, keyword_id)
    assert not [one for _, one in keywords.words() if one.keyword_id == keyword_id]


TEXTS = ("alpha beta", "alphabet soup", "beta", "gamma alpha beta", "ox", "soup of the day", "Straße 12", "beta alpha")


@pytest.mark.parametrize("caller", [None, "someone"])
def test_lists_and_heads_give_what_entries_and_associations_gave(keywords: Keywords, caller: str | None) -> None:
    for number, text in enumerate(TEXTS * 2):
        answer = web_answer(f"R{number}")
        keywords.index_in_the_former_form(text, query_id=f"Q{number:02}", answer=answer, caller=caller)
    keywords.index("alpha beta", query_id="P", kb_id="other_kb", answer=web_answer("O", kb_id="other_kb"))
    queries = (*TEXTS, "alpha", "What does the alphabet say about alpha beta?", "unknown words", "")

    def look_up() -> list[Any]:
        lookup = keywords.lookup
        return [lookup.look_up("default_kb", one, caller=caller, deadline=Deadline.after(20)) for one in queries]

    by_lists = look_up()
    assert any(result.matches for result in by_lists)
    for text in TEXTS:
        keywords.make_former(text, ["default_kb"])
    other_list = {schema.postings_key("other_kb", stem)["pk"] for stem in ("alpha", "beta")}
    assert {pk for pk, _ in keywords.words() if pk.startswith("I#")} == other_list
    assert look_up() == by_lists


def test_keywords_of_both_kinds_are_found_until_all_are_moved(keywords: Keywords) -> None:
    keywords.index_by_entries("quantum computing", answer=web_answer("R1"))
    keywords.index("quantum chemistry", query_id="Q2", answer=web_answer("R2"))
    keywords.index("quantum computing", query_id="Q3", answer=web_answer("R3"))  # learned again where it is
    for expected in (1, 0):
        assert set(keywords.find("quantum")) == {"quantum chemistry", "quantum computing"}
        matches = keywords.lookup.find("default_kb", "quantum computing", deadline=Deadline.after(20))
        assert [match.result_ids for match in matches] == [("R3", "R1"), ("R2",)]
        assert run(keywords) == expected


def test_a_keyword_of_an_earlier_version_is_pruned_and_deleted_without_being_moved(keywords: Keywords) -> None:
    for name, caller in (("quantum computing", "ann"), ("港口图书馆", "bob")):
        keywords.index_by_entries(name, answer=web_answer(f"R{caller}"), caller=caller, query_id=f"Q{caller}")
    prune(keywords, head(keywords, "quantum computing")["keyword_id"])
    assert keywords.find("quantum") == []
    LearnedDeletion(keywords.table).delete(
        "bob", LearnedCounts(), session_id=None, with_shared=True, deadline=Deadline.after(20)
    )
    assert keywords.words() == []


def test_answers_that_a_head_does_not_name_are_queried(keywords: Keywords) -> None:
    for number in range(2 * ASSOCIATIONS_PER_KEYWORD):
        scope = f"kb{number % 2}"
        keywords.index("alpha", query_id=f"Q{number:02}", kb_id=scope, answer=web_answer(f"R{number:02}", kb_id=scope))
    assert "newest_answers" not in head(keywords, "alpha")
    for scope in (0, 1):
        [match] = keywords.lookup.find(f"kb{scope}", "alpha", deadline=Deadline.after(20))
        assert match.result_ids == tuple(f"R{number:02}" for number in range(18 + scope, -1, -2))


def test_the_newest_answers_of_a_keyword_stay_named(keywords: Keywords) -> None:
    for number in range(3 * ASSOCIATIONS_PER_KEYWORD):
        keywords.index("alpha", query_id=f"Q{number:02}", answer=web_answer(f"R{number:02}"))
    requests = operations(keywords)
    [match] = keywords.lookup.find("default_kb", "alpha", deadline=Deadline.after(20))
    assert match.result_ids == tuple(f"R{number}" for number in range(29, 19, -1))
    assert requests == {"BatchGetItem": 2}


def test_no_answer_and_no_posting_is_lost_when_many_learn_at_once(keywords: Keywords) -> None:
    def learn(number: int) -> None:
        answer = web_answer(f"R{number:02}")
        store = keywords.store
        use = keywords.use(kb_id="default_kb", session_id=None, answer=answer, query_id=f"Q{number:02}")
        store.index(["alpha", f"alpha w{number}", f"alpine n{number}"], use, deadline=Deadline.after(60))

    with ThreadPoolExecutor(16) as executor:
        list(executor.map(learn, range(32)))
    [first, *_] = keywords.lookup.find("default_kb", "alpha", deadline=Deadline.after(20))
    assert (first.keyword_text, first.usage_count) == ("alpha", 32)
    assert first.result_ids == tuple(f"R{number:02}" for number in range(31, 21, -1))
    by_keyword = Counter(one.keyword_id for _, one in keywords.words() if one.stem.startswith("alp"))
    assert len(by_keyword) == 65
    for number in range(32):
        assert keywords.find(f"w{number}") == [f"alpha w{number}"]
        assert keywords.find(f"alpine n{number}")[0] == f"alpine n{number}"


def test_a_list_that_fills_up_while_a_keyword_is_planned_leaves_nothing_behind(keywords: Keywords) -> None:
    fill_list(keywords)
    store = keywords.store
    names = [f"alpha late{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as executor:  # one store, whose threads find the list full at different moments
        uses = [keywords.use(query_id=f"L{number}") for number in range(len(names))]
        list(
            executor.map(
                lambda one: store.index([one[0]], one[1], deadline=Deadline.after(60)), zip(names, uses, strict=True)
            )
        )
    late = {head(keywords, name)["keyword_id"] for name in names}
    for keyword_id in late:
        prune(keywords, keyword_id)
    assert not [one for _, one in keywords.words() if one.keyword_id in late]


def results(keywords: Keywords, query: str, kb_id: str = "default_kb") -> tuple[str, ...]:
    [match] = keywords.lookup.find(kb_id, query, deadline=Deadline.after(20))
    return match.result_ids


def erase(keywords: Keywords, caller: str) -> None:
    deletion = LearnedDeletion(keywords.table)
    deletion.delete(caller, LearnedCounts(), session_id=None, with_shared=True, deadline=Deadline.after(60))


def test_near_duplicates_do_not_make_a_head_grow(keywords: Keywords) -> None:
    keywords.index("ferry tickets", query_id="Q00", answer=web_answer("R00"))
    for number in range(1, 31):  # each finds the keyword by its stems
        keywords.index("ferry ticket", query_id=f"Q{number:02}", answer=web_answer(f"R{number:02}"))
    assert len(head(keywords, "ferry tickets")["newest_answers"]) <= ASSOCIATIONS_PER_KEYWORD + 4
    assert results(keywords, "ferry") == tuple(f"R{number}" for number in range(30, 20, -1))


def test_older_answers_come_back_when_newer_ones_are_erased_or_forgotten(keywords: Keywords) -> None:
    for number in range(15):
        caller = "bob" if number < 6 else "ann"
        keywords.index("alpha", query_id=f"Q{number:02}", answer=web_answer(f"R{number:02}"), caller=caller)
    erase(keywords, "ann")
    assert results(keywords, "alpha") == tuple(f"R{number:02}" for number in range(5, -1, -1))
    AnswerForgetting(keywords.table).forget("R05", by="test", deadline=Deadline.after(20))
    assert results(keywords, "alpha") == tuple(f"R{number:02}" for number in range(4, -1, -1))
    assert "ann" not in str(keywords.heads())


def test_a_keyword_that_is_learned_again_moved_and_restored_leads_to_all_its_answers(keywords: Keywords) -> None:
    keywords.index_by_entries("alpha", query_id="Q1", answer=web_answer("R1"))
    keyword_id = head(keywords, "alpha")["keyword_id"]
    prune(keywords, keyword_id)
    keywords.index("alpha", query_id="Q2", answer=web_answer("R2"))
    run(keywords)
    restore(keywords, keyword_id)
    assert results(keywords, "alpha") == ("R2", "R1")


def test_what_an_earlier_version_adds_to_a_keyword_of_this_one_is_found_moved_and_deleted(keywords: Keywords) -> None:
    keywords.index_in_the_former_form("quantum computing", query_id="Q1", answer=web_answer("R1"), caller="ann")
    answer = web_answer("R2", kb_id="physics")
    keywords.index("quantum computing", query_id="Q2", answer=answer, kb_id="physics", caller="ann")
    keywords.make_former("quantum computing", ["physics"])  # which was learned there by the earlier version
    assert (keywords.find("quantum"), keywords.find("quantum", "physics")) == (["quantum computing"],) * 2
    assert run(keywords) == 1
    assert {pk[:2] for pk, _ in keywords.words()} == {"I#"}
    assert results(keywords, "quantum", "physics") == ("R2",)
    keywords.make_former("quantum computing", ["physics"])
    erase(keywords, "ann")
    assert keywords.words() == []


@pytest.mark.parametrize("writes", [1, 2])
def test_a_move_that_was_interrupted_leaves_no_words_behind(keywords: Keywords, writes: int) -> None:
    fill_list(keywords)
    for number, kb_id in enumerate(("default_kb", "physics")):
        answer = web_answer(f"R{number}", kb_id=kb_id)
        keywords.index_in_the_former_form(
            "alphabet soup", query_id=f"Q{number}", kb_id=kb_id, answer=answer, caller="ann"
        )
    keywords.make_former("alphabet soup", ["default_kb", "physics"])
    left = writes

    def die(**_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt

    former = head(keywords, "alphabet soup")
    keywords.client.meta.events.register("before-call.dynamodb.TransactWriteItems", die, "die")
    with suppress(KeyboardInterrupt):
        PostingMover(keywords.table).move(former, deadline=Deadline.after(20))
    keywords.client.meta.events.unregister("before-call.dynamodb.TransactWriteItems", die, "die")
    assert "alphabet soup" in keywords.find("alphabet soup")
    assert keywords.find("alphabet", "physics") == ["alphabet soup"]
    prune(keywords, former["keyword_id"])
    erase(keywords, "ann")
    assert not [one for _, one in keywords.words() if one.keyword_id == former["keyword_id"]]
