"""Keywords that the extractive model extracts for a web answer."""

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


def test_keywords_are_phrases_shared_by_question_title_and_answer() -> None:
    keywords = extract_keywords("What is the Hypothesis testing library for Python?", ["hypothesis"], ANSWER)
    assert 5 <= len(keywords) <= 8
    assert any("hypothesis" in keyword.lower() for keyword in keywords)
    assert any("property-based testing" in keyword.lower() for keyword in keywords)
    assert "Python" in keywords


def test_text_without_spaces_is_cut_at_its_function_words() -> None:
    keywords = extract_keywords("太阳能板应该多久清洗一次？", ["太阳能板的保养"], "太阳能板每年清洗两次。")
    assert {"太阳能板", "保养"} <= set(keywords)
    hindi = extract_keywords("सौर पैनल कितनी बार साफ़ करें?", ["सौर पैनल की देखभाल"], "")
    assert {"सौर पैनल", "देखभाल"} <= set(hindi)


def test_marks_links_and_code_give_no_keywords() -> None:
    answer = "See https://example.org/path [web-1] and [2].\n```\nsecret_call()\n```"
    keywords = " ".join(extract_keywords("How do transactions work in DynamoDB?", [], answer)).lower()
    assert "dynamodb" in keywords
    assert not any(part in keywords for part in ("http", "example.org", "web-1", "secret_call"))


def test_no_keyword_begins_or_ends_with_a_weak_word() -> None:
    keywords = extract_keywords("How do I use the best way to install Starlette?", [], "You can install Starlette.")
    assert [keyword.lower() for keyword in keywords] == ["starlette"]


def test_a_text_without_topic_words_gives_no_keywords() -> None:
    assert extract_keywords("the of and", [], "") == []


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=4), st.text(max_size=500))
def test_keywords_are_valid_distinct_and_deterministic(question: str, titles: list[str], answer: str) -> None:
    keywords = extract_keywords(question, titles, answer)
    valid, rejected = check_keywords(keywords)
    assert valid == keywords and rejected == []
    assert len({fold(keyword) for keyword in keywords}) == len(keywords) <= 8
    assert all(len(keyword.split()) <= 3 for keyword in keywords)
    assert extract_keywords(question, titles, answer) == keywords
