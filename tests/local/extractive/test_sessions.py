"""Answers of the extractive model in sessions: follow-ups, corrections, changes of topic and small talk.

`benchmarks/conversations.py` asks far more, in ten languages.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, WEB, ExtractiveModel

WINDMILL = (
    "The windmill grinds rye on Tuesdays. Its sails are 22 metres long. It was moved to the hill by Karl Berg in 1911. "
    "He died in 1930."
)
FERRY = "The ferry carries 12 cars. It sails every 40 minutes. The captain of the ferry is Mona Dahl."
OVEN = (
    "The bread oven is heated with beech wood. It was built by Ida Lund in 1904. She also built the bakery. "
    "It is two metres high."
)
PASSAGES = {"Ferry": FERRY, "Windmill": WINDMILL, "Bread oven": OVEN}


def ask(*turns: str) -> dict[str, Any]:
    """The answer to the last turn. Every search returns all passages, the first of them as the best."""
    model = ExtractiveModel(Judge(None))
    messages: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {}
    chunks = [
        {"id": f"kb-{n}", "title": title, "content": content, "score": 0.6 - n / 100}
        for n, (title, content) in enumerate(PASSAGES.items(), 1)
    ]
    for turn in turns:
        call = {"id": "1", "function": {"name": SEARCH, "arguments": "{}"}}
        asked = [
            *messages,
            {"role": "user", "content": turn},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": json.dumps({"chunks": chunks})},
        ]
        [reply] = model.next_calls(asked, [SEARCH, WEB, ANSWER])
        assert reply.name == ANSWER
        arguments = json.loads(reply.arguments)
        messages += [{"role": "user", "content": turn}, {"role": "assistant", "content": arguments["answer"]}]
    return arguments


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (("Who moved the windmill to the hill?", "When did he die?"), "He died in 1930. [kb-2]"),
        (("How many cars does the ferry carry?", "What is a windmill?"), "The windmill grinds rye on Tuesdays. [kb-2]"),
        (("How often does the ferry sail?", "No, the windmill.", "How long are its sails?"), "22 metres"),
        (("Who is the captain of the ferry?", "Thanks!", "And how many cars does it carry?"), "carries 12 cars"),
        (("Who moved the windmill?", "What about the ferry, who is its captain?"), "Mona Dahl. [kb-1]"),
        (("Who moved the windmill?", "When did he die?", "And how long are its sails?"), "22 metres"),
        (("Who built the bread oven?", "When did she build it?", "How high is it?"), "two metres high"),
        (("Who moved the windmill?", "And who is the captain of the ferry?"), "Mona Dahl. [kb-1]"),
    ],
)
def test_the_last_turn_is_answered_in_its_context(turns: tuple[str, ...], answer: str) -> None:
    assert answer in ask(*turns)["answer"]


def test_what_was_said_is_not_repeated_alone() -> None:
    assert "She also built the bakery." in ask("Who built the oven?", "What else did she build?")["answer"]


def test_the_same_about_something_unknown_is_not_answered_by_what_is_known() -> None:
    answer = ask("How many cars does the ferry carry?", "What is a windmill?")
    assert "12 cars" not in answer["answer"]


@pytest.mark.parametrize("message", ["hello", "Thanks!", "?", "ok", "👍", "Danke!", "谢谢", "شكرا", "धन्यवाद", "bye"])
def test_small_talk_gets_one_sentence_without_sources(message: str) -> None:
    for turns in ((message,), ("Who is the captain of the ferry?", message)):
        answer = ask(*turns)
        assert answer["sources"] == []
        assert answer["answer"].count(".") + answer["answer"].count("!") <= 2
        assert "captain" not in answer["answer"]


@pytest.mark.parametrize("message", ["What can you do?", "Hi, who are you?", "help", "Was kannst du?", "你是谁？"])
def test_a_question_about_the_assistant_is_told_what_it_answers_from(message: str) -> None:
    for turns in ((message,), ("Who is the captain of the ferry?", message)):
        answer = ask(*turns)
        assert answer["sources"] == []
        assert "documents of the knowledge base" in answer["answer"] and "sources" in answer["answer"]


def test_a_question_that_begins_like_one_about_the_assistant_is_answered_from_passages() -> None:
    assert ask("What do you know about the captain of the ferry?")["sources"] == ["kb-1"]
