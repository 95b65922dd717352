"""Keywords of the former form and of the compact one: merged into each other, pruned, restored and deleted."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from gleaner.errors import UnknownKeyword
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_catalog import KeywordCatalog
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_moving import PostingMover
from gleaner.stores.keyword_stems import merge_key
from gleaner.stores.keywords import KeywordStore
from gleaner.stores.learned_deletion import LearnedCounts, LearnedDeletion
from tests.keyword_fixtures import Keywords, claim_stems, web_answer
from tests.pruning.test_run import pruner
from tests.stores.test_keyword_stems import SPELLINGS

WRITERS = 32


def soon() -> Deadline:
    return Deadline.after(30)


def kinds(keywords: Keywords) -> dict[str, int]:
    """How many items there are of each kind of sort key, without posting lists and their entries."""
    names = [item["sk"].partition("#")[0] for item in keywords.items() if not item["pk"].startswith(("I#", "T#"))]
    return {name: names.count(name) for name in names}


def prune_one(keywords: Keywords, keyword_id: str) -> None:
    pruner(keywords).prune_one(keyword_id, by="test", deadline=soon())


def restore_one(keywords: Keywords, keyword_id: str) -> bool:
    return pruner(keywords).restore_one(keyword_id, deadline=soon())


def erase(keywords: Keywords, caller: str) -> int:
    counts = LearnedCounts()
    LearnedDeletion(keywords.table).delete(caller, counts, session_id=None, with_shared=True, deadline=soon())
    return counts.keywords


def test_the_former_form_is_written_until_the_compact_one_may_be(keywords: Keywords) -> None:
    for number, from_now in enumerate((timedelta(days=1), timedelta(seconds=-1))):
        announced = KeywordLayout(keywords.table)
        announced.note({"compact_from": to_timestamp(utc_now() + from_now), "compact_until": "9"})
        KeywordStore(keywords.table, announced).index([f"topic w{number}"], keywords.use(query_id="Q"), deadline=soon())
        if number == 0:
            assert kinds(keywords) == {"KEYWORD": 1, "A": 1, "STEMS": 1}
    assert [schema.is_of_stems(keywords.id_of(f"topic w{number}")) for number in range(2)] == [False, True]


def test_concurrent_writers_share_a_keyword_whatever_form_they_write(keywords: Keywords) -> None:
    """Clocks differ: one process may still write the former form when another writes the compact one."""
    compact, former = KeywordLayout(keywords.table), KeywordLayout(keywords.table)
    former.note({"compact_from": to_timestamp(utc_now() + timedelta(days=1)), "compact_until": "9"})
    draw = random.Random(5)
    calls = [(f"Q{number}", draw.choice(SPELLINGS), draw.choice((former, compact))) for number in range(2 * WRITERS)]

    def learn(query_id: str, spelling: str, layout: KeywordLayout) -> str:
        use = keywords.use(query_id=query_id, answer=web_answer(f"R-{query_id}"), caller=query_id)
        [indexed] = KeywordStore(keywords.table, layout).index([spelling], use, deadline=soon())
        return indexed.keyword_id

    with ThreadPoolExecutor(WRITERS) as pool:
        ids = set(pool.map(lambda call: learn(*call), calls))
    [head] = keywords.heads()
    assert ids == {head["keyword_id"]}
    assert head["usage_count"] == len(keywords.associations()) == len(calls)


def test_a_call_that_is_repeated_in_the_other_form_counts_once(keywords: Keywords) -> None:
    names = ("ferry ticket", "harbour library")
    for first_is_compact in (False, True):
        query_id = f"Q{first_is_compact}"
        for is_compact in (first_is_compact, not first_is_compact, first_is_compact):
            keywords.write_compactly(is_compact)
            keywords.index(f"{query_id} topic", *names, query_id=query_id, answer=web_answer(f"R{query_id}"))
    assert {head["keyword_text"]: head["usage_count"] for head in keywords.heads()} == {
        "QFalse topic": 1,
        "QTrue topic": 1,
        "ferry ticket": 2,
        "harbour library": 2,
    }


def test_keywords_of_both_forms_are_found_pruned_and_restored_alike(keywords: Keywords) -> None:
    [former] = keywords.index_in_the_former_form("harbour library", answer=web_answer("R1"))
    [compact] = keywords.index("harbour ferry", query_id="Q2", answer=web_answer("R2"))
    both = ["harbour library", "harbour ferry"]
    assert sorted(keywords.find("harbour")) == sorted(both)
    before = keywords.words()
    for keyword in (former, compact):
        prune_one(keywords, keyword.keyword_id)
    assert (keywords.find("harbour"), keywords.words()) == ([], [])
    for keyword in (former, compact):
        assert restore_one(keywords, keyword.keyword_id)
    assert sorted(keywords.find("harbour")) == sorted(both)
    assert sorted(map(str, keywords.words())) == sorted(map(str, before))


@pytest.mark.parametrize("is_compact", [False, True])
def test_a_deleted_keyword_leaves_nothing_and_its_stems_are_free(keywords: Keywords, is_compact: bool) -> None:
    learn = keywords.index if is_compact else keywords.index_in_the_former_form
    learn("ferry ticket", answer=web_answer(), caller="ann")
    assert erase(keywords, "ann") == 1
    assert "ferry" not in str(keywords.items())
    [again] = keywords.index("ferry tickets", query_id="Q2", caller="bob")
    assert (again.existed, schema.is_of_stems(again.keyword_id)) == (False, True)


def test_a_claim_is_not_written_for_a_keyword_that_was_deleted_since_it_was_read(keywords: Keywords) -> None:
    keywords.index_in_the_former_form("ferry ticket", with_claims=False, answer=web_answer(), caller="ann")
    heads = keywords.heads()
    erase(keywords, "ann")
    assert PostingMover(keywords.table).claim_stems(heads, deadline=soon()) == 0
    assert "ferry" not in str(keywords.items())


def test_stems_that_have_a_keyword_are_not_claimed_by_another(keywords: Keywords) -> None:
    [former] = keywords.index_in_the_former_form("ferry ticket", with_claims=False)
    [compact] = keywords.index("ferry tickets", query_id="Q2")
    assert former.keyword_id != compact.keyword_id
    claim_stems(keywords)
    [again] = keywords.index("my ferry ticket", query_id="Q3")
    assert again.keyword_id == compact.keyword_id


def test_a_restored_keyword_claims_its_stems_if_no_other_has_them(keywords: Keywords) -> None:
    names = ("ferry ticket", "harbour library")
    ferry, library = (item.keyword_id for item in keywords.index_in_the_former_form(*names, with_claims=False))
    for keyword_id in (ferry, library):
        prune_one(keywords, keyword_id)
    [of_stems] = keywords.index("ferry tickets", query_id="Q2", answer=web_answer("R2"))
    for keyword_id in (ferry, library):
        assert restore_one(keywords, keyword_id)
    assert sorted(keywords.find("ferry ticket")) == ["ferry ticket", "ferry tickets"]
    learned = keywords.index("My ferry ticket", "harbour libraries", query_id="Q3")
    assert {item.keyword_id for item in learned} == {of_stems.keyword_id, library}


def test_a_claim_is_no_keyword(keywords: Keywords) -> None:
    keywords.index_in_the_former_form("ferry ticket")
    of_stems = schema.keyword_id(merge_key("ferry ticket"))
    catalog = KeywordCatalog(keywords.table, keywords.executor)
    with pytest.raises(UnknownKeyword):
        catalog.get(of_stems, deadline=soon())
    with pytest.raises(UnknownKeyword):
        prune_one(keywords, of_stems)
    assert catalog.get_many([of_stems], deadline=soon()) == []
    keywords.store.count_uses([of_stems], keywords.use(query_id="U"), deadline=soon())
    assert [head["usage_count"] for head in keywords.heads()] == [1]


def test_concurrent_learning_and_deleting_of_both_forms_leave_one_keyword(keywords: Keywords) -> None:
    keywords.index_in_the_former_form("ferry ticket", caller="ann", answer=web_answer())

    def learn(number: int) -> None:
        answer = web_answer(f"R{number}")
        keywords.index(SPELLINGS[number % 5], query_id=f"Q{number}", caller="bob", answer=answer)

    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(learn, number) for number in range(10, 34)]
        futures += [pool.submit(erase, keywords, "ann") for _ in range(2)]  # type: ignore[misc]
        for future in futures:
            future.result()
    erase(keywords, "ann")
    [head] = keywords.heads()
    assert head["usage_count"] >= len(keywords.associations()) == 24
    assert {item["caller"] for item in keywords.associations()} == {"bob"}
