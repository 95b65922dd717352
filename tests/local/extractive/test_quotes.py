"""What the extractive model quotes of passages, and when it says that they hold no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, ExtractiveModel


def answer(question: str, *contents: str, chapter: str = "", score: float = 0.8) -> str:
    """The answer of the model without weights, from passages that the search found."""
    chunks = [
        {"id": f"kb-{number}", "content": content, "score": score, "title": "Handbook", "chapter": chapter}
        for number, content in enumerate(contents, 1)
    ]
    call = {"id": "1", "function": {"name": SEARCH, "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": question},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps({"chunks": chunks})},
    ]
    [reply] = ExtractiveModel(Judge(None)).next_calls(messages, [ANSWER])
    return str(json.loads(reply.arguments)["answer"])


def is_refusal(text: str) -> bool:
    return "does not hold an answer" in text


def test_an_introduction_is_quoted_with_its_list_or_table() -> None:
    items = "The berth fees are:\n\n- boats 9 crowns\n- rafts 3 crowns\n\nPay at the kiosk."
    table = "These are the berth fees:\n\n| Boat | Fee |\n| --- | --- |\n| kayak | 9 |"

    assert "The berth fees are: [kb-1]\n\n- boats 9 crowns\n- rafts 3 crowns" in answer(
        "What are the berth fees?", items
    )
    assert "- Boat: kayak; Fee: 9" in answer("What are the berth fees?", table)


def test_an_item_is_not_quoted_a_second_time_and_a_long_list_is_cut() -> None:
    items = "The berth fees are:\n\n" + "\n".join(
        f"- berth number {number} costs {number} crowns" for number in range(40)
    )

    text = answer("What are the berth fees?", items)

    assert text.count("berth number 3 ") == 1
    assert len(text) < 1_000


def test_who_asks_how_sees_the_code_that_follows() -> None:
    passage = (
        "Hide the berth list in the settings. The list is then empty.\n\n```\nlist:\n  hidden: true\n```\n\nThe end."
    )

    assert "hidden: true" in answer("How do I hide the berth list?", passage)
    assert "hidden: true" not in answer("Why hide the berth list?", passage)


def test_what_stands_below_a_heading_that_asks_the_same_is_the_answer() -> None:
    text = answer(
        "May I fish from the deck?", "No, never.\n\nLost items are kept.", chapter="May I fish from the deck?"
    )

    assert text.startswith("No, never.")


@pytest.mark.parametrize(
    ("question", "refused"),
    [
        ("When does the Lisbon office open?", True),
        ("When does the Porto office open?", False),
        ("When does the office open?", False),
        ("Who paints the office?", True),
        ("Wann öffnet das Büro?", False),
    ],
)
def test_a_name_or_topic_that_stands_in_no_passage_is_not_answered(question: str, refused: bool) -> None:
    passages = ("The Porto office opens at 8:30.", "Das Büro in Bonn öffnet um 9 Uhr.")

    assert is_refusal(answer(question, *passages, score=0.5)) == refused


def test_a_request_without_a_topic_is_answered_from_any_passage() -> None:
    assert not is_refusal(answer("Explain this.", "The ferry carries 12 cars.", score=0.06))


@pytest.mark.parametrize("question", ["How heavy is the bell?", "How tall is the mast?", "How deep is the pool?"])
def test_a_measure_need_not_be_named_by_the_word_of_the_question(question: str) -> None:
    passage = "The bell weighs 910 kilograms. The mast stands 12 m. The pool goes down to 3 metres."

    assert not is_refusal(answer(question, passage, score=0.45))
