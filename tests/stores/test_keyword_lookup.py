"""Finding keywords by the words of a query."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gleaner.runtime.deadline import Deadline
from gleaner.stores._lookup_reading import ENTRIES_PER_TERM
from gleaner.stores.keyword_items import ASSOCIATIONS_PER_KEYWORD
from gleaner.stores.keyword_lookup import MAX_KEYWORDS, UNKNOWN_WEIGHT
from gleaner.stores.keyword_postings import MAX_POSTINGS, MAX_STEMS
from tests.keyword_fixtures import Keywords, web_answer


@pytest.mark.parametrize(
    "query",
    [
        "quantum apps",
        "QUANTUM",
        "what is computing for?",
        "applications",
        "the applic of physics",
        "Quantum computing applications",
    ],
)
def test_words_and_prefixes_of_words_find_a_keyword(keywords: Keywords, query: str) -> None:
    keywords.index("quantum computing applications")
    assert keywords.find(query) == ["quantum computing applications"]


@pytest.mark.parametrize("query", ["", "the", "chemistry", "ap", "quan#"])
def test_other_words_do_not_find_a_keyword(keywords: Keywords, query: str) -> None:
    keywords.index("applications of things")
    assert keywords.find(query) == []


def test_keywords_that_match_more_of_themselves_and_of_the_query_come_first(keywords: Keywords) -> None:
    keywords.index("quantum", "quantum computing", "quantum chemistry of proteins", "computing")
    assert keywords.find("quantum computing")[0] == "quantum computing"
    assert keywords.find("quantum")[0] == "quantum"


def test_keywords_are_ranked_by_rarity_of_terms_then_by_use(keywords: Keywords) -> None:
    keywords.index(*[f"python {name}" for name in ("flask", "django", "numpy", "pandas")], "zig compiler")
    keywords.index("python numpy", query_id="Q2")
    results = keywords.find("python zig")
    assert results[0] == "zig compiler"
    assert results[1] == "python numpy"


def test_a_keyword_is_found_in_its_knowledge_base_only(keywords: Keywords) -> None:
    keywords.index("quantum computing", kb_id="other_kb")
    assert keywords.find("quantum") == []
    keywords.index("quantum computing", query_id="Q2")
    assert keywords.find("quantum") == ["quantum computing"]
    assert keywords.find("quantum", "other_kb") == ["quantum computing"]


def test_answers_are_newest_first_and_from_this_knowledge_base(keywords: Keywords) -> None:
    for number in range(12):
        keywords.index("quantum computing", query_id=f"Q{number:02}", answer=web_answer(f"R{number}"))
    other = web_answer("R99", kb_id="other_kb")
    keywords.index("quantum computing", query_id="Q99", kb_id="other_kb", answer=other)
    [match] = keywords.lookup.find("default_kb", "quantum", deadline=Deadline.after(20))
    assert match.result_ids == tuple(f"R{number}" for number in range(11, 1, -1))
    assert match.usage_count == 13


@pytest.mark.parametrize("size", [10, pytest.param(120, marks=pytest.mark.slow)])
def test_the_cost_of_a_look_up_is_bounded_at_any_table_size(keywords: Keywords, size: int) -> None:
    for start in range(0, size, 20):
        names = [f"common word{n}" for n in range(start, min(size, start + 20))]
        keywords.index(*names, query_id=f"Q{start}", answer=web_answer(f"R{start}"))
    read_counts: list[int] = []

    def count(parsed: Any, **_: Any) -> None:
        items = parsed["Items"] if "Items" in parsed else parsed["Responses"][keywords.table_name]
        read_counts.append(sum(max(1, len(item.get("postings", {}).get("SS", ()))) for item in items))

    keywords.client.meta.events.register("after-call.dynamodb", count)
    requests = record_requests(keywords)
    assert keywords.lookup.find("default_kb", "common", deadline=Deadline.after(20))
    assert requests == Counter({"BatchGetItem": 2} | ({"Query": 1} if size > 10 else {}))
    assert sum(read_counts) <= 1 + 2 * (MAX_POSTINGS + 20) + ENTRIES_PER_TERM + MAX_KEYWORDS


def record_requests(keywords: Keywords) -> Counter[str]:
    requests: Counter[str] = Counter()
    keywords.client.meta.events.register("before-call.dynamodb", lambda model, **_: requests.update([model.name]))
    return requests


def test_a_look_up_takes_two_requests_however_much_was_learned(keywords: Keywords) -> None:
    names = [f"{one} {two}" for one in ("quantum", "computing", "chemistry") for two in ("science", "history", "art")]
    for number in range(ASSOCIATIONS_PER_KEYWORD):
        keywords.index(*names, query_id=f"Q{number}", answer=web_answer(f"R{number}"))
    requests = record_requests(keywords)
    query = "What is quantum computing in the history of science, chemistry and art?"
    matches = keywords.lookup.find("default_kb", query, deadline=Deadline.after(20))
    assert {len(match.result_ids) for match in matches} == {ASSOCIATIONS_PER_KEYWORD} and len(matches) == len(names)
    assert requests == {"BatchGetItem": 2}


@pytest.mark.slow
def test_a_keyword_of_common_terms_is_found_by_their_pair(keywords: Keywords) -> None:
    for start in range(0, 60, 20):
        keywords.index(*[f"alpha w{n}" for n in range(start, start + 20)], query_id=f"Q{start}")
        keywords.index(*[f"beta w{n}" for n in range(start, start + 20)], query_id=f"P{start}")
    keywords.index("alpha beta of long names indeed")
    assert keywords.find("alpha beta")[0] == "alpha beta of long names indeed"


def test_terms_are_weighted_by_rarity(keywords: Keywords) -> None:
    keywords.index(*[f"python {name}" for name in ("flask", "django", "numpy", "pandas")], "zig compiler")
    weights = keywords.lookup.look_up("default_kb", "python zig cobol", deadline=Deadline.after(20)).weights
    assert weights["zig"] == 1.0 > weights["cobol"] == UNKNOWN_WEIGHT > weights["python"] > 0


def test_a_very_long_query_looks_up_no_more_terms_than_the_limit(keywords: Keywords) -> None:
    keywords.index("quantum computing")
    query = " ".join(["quantum", *(f"w{number}" for number in range(500))])
    result = keywords.lookup.look_up("default_kb", query, deadline=Deadline.after(20))
    assert len(result.weights) == MAX_STEMS
    assert [match.keyword_text for match in result.matches] == ["quantum computing"]


def test_answers_are_read_beside_the_entries(keywords: Keywords) -> None:
    for number in range(3):
        keywords.index("alpha beta", query_id=f"Q{number}", answer=web_answer(f"R{number}"))
    for query in ("alpha", "gamma", "", " ".join(f"w{number}" for number in range(9))):
        result = keywords.lookup.look_up(
            "default_kb", query, answer_ids=["R0", "R2", "none"], deadline=Deadline.after(20)
        )
        assert sorted(item["result_id"] for item in result.answers) == ["R0", "R2"]
