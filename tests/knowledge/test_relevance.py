"""Which keywords may lead to a web answer: mentioned ones, abbreviations, and a few other names."""

from __future__ import annotations

import pytest

from gleaner.knowledge.relevance import related_keywords
from tests.keyword_fixtures import web_answer

SCHEDULING = web_answer(query="How does Kubernetes place pods?", answer="The scheduler of Kubernetes places pods.")
HEART = web_answer(query="What helps after a heart attack?", answer="Aspirin helps after a heart attack.")


@pytest.mark.parametrize(
    ("short", "answer"),
    [
        ("k8s", "Kubernetes places pods."),
        ("i18n", "Internationalization takes time."),
        ("LLM", "A large language model writes text."),
        ("LLMs", "Large language models write text."),
        ("U.S.A.", "The United States of America have states."),
        ("internationalization", "Use i18n for that."),
        ("European Union", "The EU made rules."),
    ],
)
def test_an_abbreviation_and_what_it_stands_for_are_related(short: str, answer: str) -> None:
    stored = web_answer(query="What is it?", answer=answer)
    assert short in related_keywords([short, "password reset", "bank login"], stored, "")


@pytest.mark.parametrize("other", ["myocardial infarction", "Herzinfarkt", "infarto de miocardio", "心筋梗塞"])
def test_another_name_beside_a_mentioned_keyword_is_accepted(other: str) -> None:
    assert related_keywords(["heart attack", other], HEART, "") == {"heart attack", other}


@pytest.mark.parametrize("others", [["password reset", "bank login"], ["password reset", "bank login", "vacation"]])
def test_more_foreign_keywords_than_mentioned_ones_are_all_refused(others: list[str]) -> None:
    assert related_keywords(["heart attack", *others], HEART, "") == {"heart attack"}


def test_no_foreign_keyword_is_accepted_alone() -> None:
    assert related_keywords(["password reset"], HEART, "") == set()


@pytest.mark.parametrize("keyword", ["k7s", "k8t", "XQZ", "skp", "foo"])
def test_what_only_looks_like_an_abbreviation_is_foreign(keyword: str) -> None:
    assert keyword not in related_keywords([keyword], SCHEDULING, "")


def test_the_callers_own_words_count_as_mentions() -> None:
    assert related_keywords(["cardiac arrest"], HEART, "Is it a cardiac arrest?") == {"cardiac arrest"}
