"""Answers of the extractive model about selected texts, which the service's search cuts into passages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner.knowledge.selection import Selection
from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, ExtractiveModel

ENGLISH = (
    "The library opens on Monday at nine. Readers may borrow seven books. The fine is two euros a day. "
    "Maps are on the third floor. The cafe is in the cellar."
)
GERMAN = "Die Bibliothek öffnet am Montag um neun Uhr. Die Mahngebühr beträgt zwei Euro pro Tag."
CHINESE = "图书馆周一上午九点开门。逾期每天罚款两元。咖啡馆在地下一层。"
RUSSIAN = "Библиотека открывается в понедельник в девять утра. Штраф составляет два рубля в день."
ARABIC = "تفتح المكتبة يوم الاثنين في التاسعة صباحا. الغرامة ريالان عن كل يوم تأخير."
FRENCH = "La bibliothèque ouvre le lundi à neuf heures. L'amende est de deux euros par jour de retard."


def ask(selected: str, question: str) -> dict[str, Any]:
    """The answer, after as many searches as the model makes."""
    model, selection = ExtractiveModel(Judge(None)), Selection(selected, None)
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    offered = [SEARCH]
    while True:
        [call] = model.next_calls(messages, offered)
        arguments: dict[str, Any] = json.loads(call.arguments)
        if call.name == ANSWER:
            return arguments
        offered = [SEARCH, ANSWER]
        chunks = [
            {"id": f"kb-{passage.chunk_index}", "content": passage.content, "score": passage.score}
            | {"title": passage.title, "chunk_index": passage.chunk_index}
            for passage in selection.search(arguments["query"], top_k=5)
        ]
        result = {"scope": "selected_text", "chunks": chunks}
        function = {"name": SEARCH, "arguments": call.arguments}
        messages.append({"role": "assistant", "tool_calls": [{"id": str(len(messages)), "function": function}]})
        messages.append({"role": "tool", "tool_call_id": str(len(messages) - 1), "content": json.dumps(result)})


@pytest.mark.parametrize(
    ("selected", "question", "answer"),
    [
        (ENGLISH, "How much is the fine?", "The fine is two euros a day."),
        (GERMAN, "Wie hoch ist die Mahngebühr?", "Die Mahngebühr beträgt zwei Euro pro Tag."),
        (CHINESE, "逾期罚款多少？", "逾期每天罚款两元。"),
        (RUSSIAN, "Какой штраф?", "Штраф составляет два рубля в день."),
        (ARABIC, "كم الغرامة؟", "الغرامة ريالان عن كل يوم تأخير."),
        (FRENCH, "Combien coûte l'amende ?", "L'amende est de deux euros par jour de retard."),
    ],
)
def test_a_question_with_a_noun_of_the_selection_is_answered(selected: str, question: str, answer: str) -> None:
    assert answer in ask(selected, question)["answer"]


@pytest.mark.parametrize(
    ("selected", "question"),
    [
        (ENGLISH, "Summarize the passage"),
        (ENGLISH, "What is the main point?"),
        (ENGLISH, "tl;dr"),
        (ENGLISH, "Explain this."),
        (ENGLISH, "Can you summarise this text in two sentences?"),
        (GERMAN, "Fasse den Text zusammen."),
        (GERMAN, "Worum geht es hier?"),
        (CHINESE, "总结这段话"),
        (RUSSIAN, "О чём этот текст?"),
        (ARABIC, "لخص النص"),
        (FRENCH, "De quoi parle ce passage ?"),
    ],
)
def test_a_request_for_the_whole_gets_its_first_sentences(selected: str, question: str) -> None:
    answer = ask(selected, question)["answer"]
    introduction, first, *_ = answer.split("\n\n")
    assert introduction in ("The first sentences of the selected text:", "The selected text in full:")
    assert selected.startswith(first.removesuffix(" [kb-0]"))


def test_a_part_that_is_named_is_not_the_whole() -> None:
    assert ask(ENGLISH, "Summarize the rule on the fine")["answer"] == "The fine is two euros a day. [kb-0]"


def test_the_beginning_is_searched_for_if_other_passages_were_found() -> None:
    depots = "".join(f"Depot {number} holds rope and tar. " for number in range(150))
    answer = ask(depots + "A summary of summaries. " * 200, "Give me a summary")["answer"]
    assert "Depot 0 holds rope and tar. [kb-0]" in answer


def test_a_refusal_speaks_of_the_selection() -> None:
    answer = ask(ENGLISH, "Who won the football match?")
    assert answer["answer"] == "The selected text does not hold an answer to this question."
    assert answer["sources"] == []


def test_a_greeting_is_answered_for_the_selection() -> None:
    assert "the selected text" in ask(ENGLISH, "hello")["answer"]


@pytest.mark.parametrize(
    ("selected", "request_"),
    [
        (ENGLISH, "Sum it up in one sentence please"),
        (GERMAN, "Bitte fasse den Text kurz zusammen"),
        (FRENCH, "Peux-tu résumer ?"),
        (FRENCH, "Fais un résumé de ce texte"),
        (RUSSIAN, "Сделай краткое резюме"),
        (CHINESE, "请概括一下"),
        (ARABIC, "ما الفكرة العامة للنص؟"),
    ],
)
def test_a_polite_request_for_the_whole_gets_the_beginning(selected: str, request_: str) -> None:
    answer = ask(selected, request_)
    assert selected[:12] in answer["answer"]
    assert answer["answered"] == "found"


@pytest.mark.parametrize("question", ["What is the main idea of the treaty of Rome?", "Give me two tickets"])
def test_a_request_that_names_a_topic_is_not_for_the_whole(question: str) -> None:
    assert ask(ENGLISH, question)["sources"] == []
