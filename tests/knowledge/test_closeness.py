"""How close a stored web answer is to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.knowledge._closeness import QueryCloseness
from gleaner.model import Citation, WebAnswer, utc_now


def stored(query: str, answer: str = "It depends. [1]", title: str = "") -> WebAnswer:
    return WebAnswer(
        result_id="R",
        kb_id="default_kb",
        query=query,
        answer=answer,
        citations=(Citation(url="https://x.example/", title=title),),
        model="m",
        created_at=utc_now(),
    )


def closeness(query: str, answer: WebAnswer, keywords: Sequence[str], weights: Mapping[str, float]) -> float:
    return QueryCloseness(query, weights).to(answer, keywords)


RELEASE = stored("When was the Starlette framework released?", "Starlette 1.0 came in 2026 and needs Python 3.10. [1]")


def test_the_same_question_in_other_words_scores_one() -> None:
    assert closeness("the release of framework Starlette", RELEASE, ("Starlette",), {}) == pytest.approx(1.0)


@pytest.mark.parametrize("query", ["chemistry of proteins", "the", "", "what is that?"])
def test_a_query_without_a_common_term_scores_zero(query: str) -> None:
    assert closeness(query, RELEASE, ("Starlette",), {}) == 0.0


def test_a_shared_name_alone_scores_low() -> None:
    assert closeness("Starlette behind a reverse proxy of nginx", RELEASE, ("Starlette",), {}) < 0.4


def test_a_single_word_is_less_close_to_a_long_question_than_to_itself() -> None:
    long = stored("deploy a Starlette application with Docker behind nginx on Debian")
    assert closeness("nginx", long, (), {}) < closeness("nginx", stored("nginx"), (), {}) == pytest.approx(1.0)


def test_the_weight_of_a_term_depends_on_where_it_occurs() -> None:
    query = "Starlette sessions"
    question = closeness(query, stored("Starlette sessions"), (), {})
    keyword = closeness(query, stored("Starlette"), ("sessions",), {})
    mentioned = closeness(query, stored("Starlette", "Sessions are signed cookies."), (), {})
    nowhere = closeness(query, stored("Starlette"), (), {})
    assert question > keyword > mentioned > nowhere > 0


def test_an_answer_to_another_question_that_mentions_the_query_scores_in_the_middle() -> None:
    assert 0.4 <= closeness("Python 2026", RELEASE, (), {}) < 0.7


def test_the_title_of_the_page_counts_as_much_as_the_question() -> None:
    answer = stored("strike text", title="Strikethrough with GitHub Markdown")
    assert closeness("GitHub markdown strikethrough", answer, (), {}) == pytest.approx(1.0)


def test_a_missing_rare_term_lowers_the_score_more_than_a_common_one() -> None:
    weights = {"python": 0.44, "zig": 1.0}
    common = closeness("python zig", stored("python"), (), weights)
    rare = closeness("python zig", stored("zig"), (), weights)
    assert rare > common


WORDS = st.lists(st.sampled_from("alpha beta gamma delta the of".split()), max_size=6).map(" ".join)


@given(WORDS, WORDS, WORDS, WORDS, st.dictionaries(st.sampled_from(["alpha", "beta"]), st.floats(0.4, 1.0)))
def test_the_score_is_at_most_one_and_a_question_equal_to_the_query_never_lowers_it(
    query: str, question: str, answer: str, keyword: str, weights: dict[str, float]
) -> None:
    score = closeness(query, stored(question, answer), (keyword,), weights)
    assert 0.0 <= score <= 1.0 + 1e-9
    assert closeness(query, stored(query, answer), (keyword,), weights) >= score - 1e-9


def test_a_form_that_no_stemmer_knows_is_the_same_word() -> None:
    answer = stored("Wie oft soll man Solarmodule reinigen?", "Zweimal im Jahr. [1]")
    same = closeness("Wie häufig werden Solarmodule gereinigt?", answer, ("Solarmodule",), {})
    other = closeness("Wie häufig werden Solarmodule verkauft?", answer, ("Solarmodule",), {})
    assert other < 0.4 <= same


def test_a_word_that_seldom_decides_weighs_less_than_another() -> None:
    answer = stored("Когда прививать котят?", "В восемь недель. [1]")
    light = closeness("В каком возрасте делают прививку котят?", answer, ("котят",), {})
    heavy = closeness("В каком городе продают прививку котят?", answer, ("котят",), {})
    assert heavy < light
