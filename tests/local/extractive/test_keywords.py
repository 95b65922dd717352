"""Keywords that the extractive model finds for a web answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gleaner.knowledge.learning import check_keywords
from gleaner.text import fold
from gleaner_local.extractive.keywords import extract_keywords

ANSWER = (
    "Hypothesis is the property-based testing library for Python. [web-1] With Hypothesis, you write tests which "
    "should pass for all inputs in whatever range you describe. [web-1] Property-based testing finds edge cases."
)


def test_keywords_name_what_question_title_and_answer_share() -> None:
    keywords = extract_keywords("What is the Hypothesis testing library for Python?", ["hypothesis"], ANSWER)
    assert 5 <= len(keywords) <= 8
    assert any("hypothesis" in keyword.lower() for keyword in keywords)
    assert any("property-based testing" in keyword.lower() for keyword in keywords)
    assert "Python" in keywords


def test_marks_links_and_code_give_no_keywords() -> None:
    answer = "See https://example.org/path [web-1] and [2].\n```\nsecret_call()\n```"
    found = " ".join(extract_keywords("How do transactions work in DynamoDB?", [], answer)).lower()
    assert "dynamodb" in found
    assert not any(part in found for part in ("http", "example.org", "web-1", "secret_call"))


def test_weak_words_are_neither_keywords_nor_their_ends() -> None:
    keywords = extract_keywords("How do I use the best way to install Starlette?", [], "You can install Starlette.")
    assert [keyword.lower() for keyword in keywords] == ["starlette"]


def test_nothing_to_say_gives_no_keywords() -> None:
    assert extract_keywords("the of and", [], "") == []


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=4), st.text(max_size=500))
def test_whatever_is_found_is_valid_distinct_and_the_same_again(question: str, titles: list[str], answer: str) -> None:
    keywords = extract_keywords(question, titles, answer)
    valid, rejected = check_keywords(keywords)
    assert valid == keywords and rejected == []
    assert len({fold(keyword) for keyword in keywords}) == len(keywords) <= 8
    assert all(len(keyword.split()) <= 3 for keyword in keywords)
    assert extract_keywords(question, titles, answer) == keywords
