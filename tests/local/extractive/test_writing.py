"""Titles, tags, follow-up questions and queries of the extractive model, for the prompts of chat clients."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ExtractiveModel
from tests.doubles import client_tasks as sent

MERGING = (
    ("user", "Hello!"),
    ("assistant", "Hello! Ask a question, and I look for the answer in the knowledge base."),
    ("user", "How are duplicate keywords merged?"),
    ("assistant", "Duplicate keywords are merged by a conditional write. [kb-1] The usage counter is raised. [kb-2]"),
)
GERMAN = (
    ("user", "Wie lang sind die Flügel der Windmühle?"),
    ("assistant", "Die Flügel sind 22 Meter lang. Der Müller heißt Karl Berg."),
)


def write(message: str) -> Any:
    """What the model writes for a message; an object if it is JSON."""
    text = ExtractiveModel(Judge(None)).write([{"role": "user", "content": message}])
    assert text is not None
    return json.loads(text) if text.startswith("{") else text


def test_a_title_names_the_topic_of_the_first_question() -> None:
    assert write(sent.title(MERGING)) == {"title": "Duplicate Keywords Merged"}
    assert write(sent.title_of_2025(MERGING)) == {"title": "Duplicate Keywords Merged"}
    assert write(sent.libre_chat(*(text for _, text in MERGING[2:]))) == "Duplicate Keywords Merged"
    assert write(sent.libre_chat_structured(*(text for _, text in MERGING[2:]))) == "Duplicate Keywords Merged"
    assert write(sent.libre_chat_of_2024(*(text for _, text in MERGING[2:]))) == "Duplicate Keywords Merged"


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Wie lang sind die Flügel der Windmühle?", "Flügel Windmühle"),
        ("Hello!", "Hello"),
        ("What is it?", "What Is It"),
        ("Hi, when does the ferry to Lona sail? Thanks!", "Ferry Lona Sail"),
        ("USER: and ASSISTANT: are roles", "USER ASSISTANT Roles"),
        ("风车什么时候建成的?", None),
        ("?", "General"),
        ("word " * 4_000, "Word"),
    ],
)
def test_a_title_is_short_whatever_is_asked(question: str, title: str | None) -> None:
    written = write(sent.libre_chat(question, "So it is."))
    assert 0 < len(written) <= 60
    assert "\n" not in written
    if title is not None:
        assert written == title


def test_tags_are_keywords_and_general_where_little_was_said() -> None:
    assert write(sent.tags(MERGING[2:])) == {"tags": ["General"]}
    tags = write(sent.tags(MERGING))["tags"]
    assert 1 <= len(tags) <= 3
    assert any("keyword" in tag.casefold() for tag in tags)


def test_follow_ups_ask_about_what_the_answer_names() -> None:
    [*questions] = write(sent.follow_ups(MERGING[2:]))["follow_ups"]
    assert 1 <= len(questions) <= 3
    assert all(question.startswith("What is said about ") for question in questions)
    assert not any("duplicate" in question for question in questions)  # that was asked
    assert all(question.startswith("Was steht dort über ") for question in write(sent.follow_ups(GERMAN))["follow_ups"])


def test_a_query_stands_alone() -> None:
    turns = (*MERGING[2:], ("user", "Who wrote it?"))
    [query] = write(sent.queries(turns))["queries"]
    assert query.startswith("Who wrote it?")
    assert "keywords" in query
    assert write(sent.queries(MERGING[:1])) == {"queries": []}


def test_what_is_being_typed_is_not_continued() -> None:
    assert write(sent.continuation(MERGING, "How are")) == {"text": ""}


def test_other_messages_without_tools_are_no_task() -> None:
    model = ExtractiveModel(Judge(None))
    assert model.write([{"role": "user", "content": "How are duplicates merged?"}]) is None
    assert model.write([]) is None
