"""Near-duplicates are one keyword, whoever writes them, and whatever an earlier version stored."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.keyword_stems import merge_key, new_keyword_id
from gleaner.text import fold
from tests.keyword_fixtures import Keywords, claim_stems, web_answer
from tests.pruning.test_run import pruner

WRITERS = 32
SPELLINGS = ("ferry ticket", "ferry tickets", "my ferry ticket", "Ferry Tickets", "FERRY TICKET")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ferry ticket", "My ferry tickets"),
        ("GPT-4", "GPT 4"),
        ("naïve Bayes", "naive bayes"),
        ("mein Fahrschein", "Fahrschein"),
        ("паром билет", "паром билеты"),
        ("the water cycle", "water cycles"),
    ],
)
def test_near_duplicates_have_one_key(one: str, other: str) -> None:
    assert merge_key(one) == merge_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vitamin A", "vitamin"),
        ("without sugar", "sugar"),
        (".NET", "net"),
        ("C#", "C++"),
        ("R&D", "R D"),
        ("-40 °C", "40 °C"),
        ("My Fair Lady", "fair lady"),
        ("The Who", "who"),
        ("La Palma", "Palma"),
        ("A to B", "B to A"),
        ("日本料理", "日本"),
    ],
)
def test_other_names_have_other_keys(one: str, other: str) -> None:
    assert merge_key(one) != merge_key(other)


@pytest.mark.parametrize("is_compact", [True, False])
@pytest.mark.parametrize("spellings", list(permutations(["My Fair Lady", "my fair lady", "MY FAIR LADY"])))
def test_spellings_that_differ_in_capitals_are_one_keyword(
    keywords: Keywords, spellings: tuple[str, ...], is_compact: bool
) -> None:
    keywords.write_compactly(is_compact)
    for number, spelling in enumerate(spellings):
        keywords.index(spelling, query_id=f"Q{number}")
    [head] = keywords.heads()
    assert (head["keyword_text"], head["usage_count"]) == (spellings[0], 3)


@pytest.mark.parametrize("spellings", list(permutations(["fair lady", "my fair lady", "Fair Ladies"])))
def test_a_determiner_makes_no_other_keyword(keywords: Keywords, spellings: tuple[str, ...]) -> None:
    for number, spelling in enumerate(spellings):
        keywords.index(spelling, query_id=f"Q{number}")
    [head] = keywords.heads()
    assert (head["keyword_text"], head["usage_count"]) == (spellings[0], 3)


@given(st.text(max_size=30), st.randoms(use_true_random=False))
def test_ids_do_not_depend_on_capitals(keyword: str, draw: random.Random) -> None:
    other = "".join(draw.choice((str.upper, str.lower, str.title, str))(character) for character in keyword)
    for is_compact in (True, False):
        if fold(other) == fold(keyword):
            assert new_keyword_id(other, is_compact=is_compact) == new_keyword_id(keyword, is_compact=is_compact)


def test_concurrent_writers_of_near_duplicates_share_one_keyword(keywords: Keywords) -> None:
    draw = random.Random(4)
    calls = [(f"Q{number}", draw.choice(SPELLINGS)) for number in range(2 * WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(keywords.index, spelling, query_id=query) for query, spelling in calls]
        ids = {keyword.keyword_id for future in futures for keyword in future.result()}
    [head] = keywords.heads()
    assert ids == {head["keyword_id"]}
    assert head["usage_count"] == len(keywords.associations()) == len(calls)


@pytest.mark.parametrize("with_claims", [True, False])
def test_a_keyword_of_an_earlier_version_keeps_its_id(keywords: Keywords, with_claims: bool) -> None:
    [former] = keywords.index_in_the_former_form("ferry tickets", with_claims=with_claims, caller="ann")
    if not with_claims:
        claim_stems(keywords)
    for number, spelling in enumerate(("Ferry tickets", "ferry ticket")):
        [merged] = keywords.index(spelling, query_id=f"Q{number + 2}", caller=f"caller{number}")
        assert (merged.keyword_id, merged.existed) == (schema.former_keyword_id(fold("ferry tickets")), True)
    [head] = keywords.heads()
    assert (head["keyword_id"], head["keyword_text"], head["usage_count"]) == (former.keyword_id, "ferry tickets", 3)
    assert head["callers"] == {"ann", "caller0", "caller1"}


def test_a_repeated_call_with_a_near_duplicate_counts_once(keywords: Keywords) -> None:
    keywords.index("ferry ticket", answer=web_answer())
    for _ in range(2):
        keywords.index("ferry tickets", query_id="Q2", answer=web_answer())
    assert [head["usage_count"] for head in keywords.heads()] == [2]


def test_a_near_duplicate_revives_a_pruned_keyword_under_its_first_spelling(keywords: Keywords) -> None:
    [first] = keywords.index("ferry ticket")
    pruner(keywords).prune_one(first.keyword_id, by="test", deadline=Deadline.after(20))
    [again] = keywords.index("my ferry tickets", query_id="Q2", kb_id="other_kb")
    assert (again.keyword_id, again.keyword_text) == (first.keyword_id, "ferry ticket")
    assert keywords.find("ferry tickets", "other_kb") == ["ferry ticket"]


def test_the_item_of_stems_may_outlive_its_keyword(keywords: Keywords) -> None:
    keywords.index("ferry ticket")
    [head] = keywords.heads()
    keywords.table.transact([keywords.table.delete({"pk": head["pk"], "sk": head["sk"]})], deadline=Deadline.after(20))
    [again] = keywords.index("ferry tickets", query_id="Q2")
    assert again.keyword_id == head["keyword_id"]
    assert keywords.find("ferry ticket") == ["ferry tickets"]
