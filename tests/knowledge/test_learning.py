"""Which keywords are accepted, and which are extracted when the model gives none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner import text
from gleaner.knowledge.learning import MAX_KEYWORDS_PER_CALL, check_keywords, extract_keywords
from gleaner.model import Citation, WebAnswer
from tests.doubles.planted_secrets import FORMS


@pytest.mark.parametrize(
    ("keyword", "reason"),
    [
        ("x", "shorter"),
        ("", "shorter"),
        ("\u0000\u202e", "shorter"),
        ("k" * 51, "longer"),
        ("ß" * 26, "longer"),  # folds to 52 code points
        ("the", "generic"),
        ("how to", "generic"),
        ("information", "generic"),
        (7, "string"),
        (None, "string"),
        (["a"], "string"),
    ],
)
def test_an_invalid_keyword_is_rejected_and_the_others_are_kept(keyword: object, reason: str) -> None:
    valid, rejected = check_keywords(["DynamoDB", keyword])
    assert valid == ["DynamoDB"]
    assert len(rejected) == 1 and reason in rejected[0].reason


@pytest.mark.parametrize("kind", ["short openai key", "e-mail address", "phone number", "card number", "iban"])
def test_a_keyword_that_contains_a_secret_is_rejected_without_repeating_it(kind: str) -> None:
    valid, rejected = check_keywords(["DynamoDB", f"of {FORMS[kind]}"])
    assert valid == ["DynamoDB"]
    assert "secret" in rejected[0].reason and FORMS[kind] not in rejected[0].keyword


@pytest.mark.parametrize("keyword", ["k8", "k" * 50, "ß" * 25, "naming", "SELECT", "日本", "C#", "naïve Bayes"])
def test_keywords_at_the_limits_are_accepted(keyword: str) -> None:
    assert check_keywords([keyword]) == ([keyword], [])


def test_spellings_of_one_keyword_merge_into_the_first() -> None:
    assert check_keywords(["Straße", "STRASSE", " strasse "]) == (["Straße"], [])


def test_keywords_above_the_limit_are_rejected() -> None:
    valid, rejected = check_keywords([f"keyword {number}" for number in range(10_000)])
    assert len(valid) == MAX_KEYWORDS_PER_CALL
    assert len(rejected) == 10_000 - MAX_KEYWORDS_PER_CALL


@given(st.lists(st.one_of(st.text(st.characters()), st.integers(), st.none())))
def test_accepted_keywords_are_valid_and_all_others_are_rejected_or_merged(proposed: list[object]) -> None:
    valid, rejected = check_keywords(proposed)
    folds = [text.fold(keyword) for keyword in valid]
    assert len(set(folds)) == len(folds) <= MAX_KEYWORDS_PER_CALL
    assert all(2 <= len(fold) <= 50 for fold in folds)
    assert len(valid) + len(rejected) <= len(proposed)
    for item in rejected:
        item.keyword.encode("utf-8", "surrogatepass")


def extract(query: str, answer: str, *titles: str) -> list[str]:
    """Extract keywords from a web answer."""
    citations = tuple(Citation(url="https://x.example/", title=title) for title in titles)
    created_at = datetime(2026, 1, 1, tzinfo=UTC)
    keywords = extract_keywords(
        WebAnswer(
            result_id="r",
            kb_id="default_kb",
            query=query,
            answer=answer,
            citations=citations,
            model="m",
            created_at=created_at,
        )
    )
    assert check_keywords(keywords) == (keywords, [])
    return keywords


def test_keywords_are_extracted_from_query_and_titles() -> None:
    keywords = extract(
        "When was the Starlette framework released?",
        "Starlette is an ASGI framework. Starlette 1.0 came in 2026.",
        "Starlette: the little ASGI framework",
    )
    assert "Starlette framework released" in keywords
    assert any("ASGI" in keyword for keyword in keywords)


def test_every_word_of_a_long_phrase_is_in_a_keyword() -> None:
    keywords = extract("Google Spreadsheets import range function", "Use IMPORTRANGE.")
    assert set(text.stems(" ".join(keywords))) >= set(text.stems("Google Spreadsheets import range function"))


def test_only_phrases_that_the_answer_repeats_become_keywords() -> None:
    keywords = extract("Starlette release", "Session cookies are signed. A session cookie is small. Bananas are not.")
    assert [keyword for keyword in keywords if "ession cookie" in keyword]
    assert not [keyword for keyword in keywords if "anana" in keyword]


def test_no_two_extracted_keywords_have_the_same_words() -> None:
    keywords = extract(
        "vector databases", "A vector database holds vectors. A vector database is fast.", "Vector database"
    )
    assert keywords == ["vector databases"]
