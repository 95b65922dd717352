"""What makes a stored answer wrong for a similar question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gleaner.knowledge.differences import DifferenceKind, StoredAnswer, find_difference, holds_no_answer

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def compare(stored: str, asked: str, answer: str = "", *, days: float = 0, hours: int | None = None) -> str | None:
    created_at = NOW - timedelta(days=days)
    kept = StoredAnswer(question=stored, answer=answer or stored, created_at=created_at, valid_for_hours=hours)
    return find_difference(asked, kept, now=NOW)


@pytest.mark.parametrize(
    ("stored", "asked", "kind"),
    [
        ("What does the lift cost in 2025?", "What does the lift cost in 2026?", "number"),
        ("When does the second half begin?", "When does the first half begin?", "number"),
        ("¿Qué ropa se usa a 5 grados bajo cero?", "¿Qué ropa se usa a 5 grados?", "polarity"),
        ("latest release of Skiff", "release date of Skiff", "kind"),
        ("How many islands belong to Hild?", "Which islands belong to Hild?", "kind"),
        ("How do I install Marlin on Pintle 3.1?", "How do I install Marlin on Pintle 3.10?", "number"),
        ("Was kostet das Zelt für zwei Nächte?", "Was kostet das Zelt für drei Nächte?", "number"),
        ("塔尔恩塔的3层有什么？", "塔尔恩塔的5层有什么？", "number"),
        ("Who built the Marlow bridge?", "When was the Marlow bridge built?", "kind"),
        ("Wie lang ist die Fahrt nach Hild?", "Wie teuer ist die Fahrt nach Hild?", "kind"),
        ("誰がサルン塔を建てましたか？", "いつサルン塔を建てましたか？", "kind"),
        ("Which plants are poisonous?", "Which plants are not poisonous?", "polarity"),
        ("How do I turn on night mode?", "How do I turn off night mode?", "polarity"),
        ("¿Qué trenes aceptan bicicletas?", "¿Qué trenes no aceptan bicicletas?", "polarity"),
        ("Какие грибы леса Тарга съедобны?", "Какие грибы леса Тарга несъедобны?", "polarity"),
        ("Which bus goes from Arden to Belmar?", "Which bus goes from Belmar to Arden?", "order"),
        ("Did Ada Riis sue Bo Falk?", "Did Bo Falk sue Ada Riis?", "order"),
        ("How many crowns are 50 pesos?", "How many pesos are 50 crowns?", "order"),
        ("When does the pharmacy in Holm close?", "When does the pharmacy in Lien close?", "subject"),
        ("What is vitamin C good for?", "What is vitamin K good for?", "subject"),
        ("How do I install Wrenlog?", "Which licence does Wrenlog have?", "subject"),
        ("Wann öffnet die Sauna am See?", "When does the sauna at the lake open?", "language"),
        ("How do I run skiff without marl2?", "Does skiff support MARL/2?", "polarity"),
        ("Does skiff support MARL/2?", "How do I run skiff without marl2?", "polarity"),
        ("Which pets except dogs may board the ferry?", "Are dogs taken on the Hild ferry?", "polarity"),
        ("Wie reinige ich den Hild-Ofen ohne Essig?", "Hilft Essig gegen Ruß im Hild-Ofen?", "polarity"),
        ("marl2 olmadan skiff nasıl çalışır?", "skiff için marl2 hangi sürümde var?", "polarity"),
    ],
)
def test_a_word_that_decides_makes_a_difference(stored: str, asked: str, kind: str) -> None:
    assert compare(stored, asked) == kind


@pytest.mark.parametrize(
    "asked",
    [
        *("Wofür ist wrenlog da?", "Was macht wrenlog?", "Wozu dient wrenlog?", "Wie funktioniert wrenlog?"),
        *("À quoi sert wrenlog ?", "Que fait wrenlog ?", "C'est quoi wrenlog ?", "Comment marche wrenlog ?"),
        *("¿Para qué sirve wrenlog?", "Para que sirve wrenlog?", "Qué hace wrenlog?"),
        *("A cosa serve wrenlog?", "Cosa fa wrenlog?", "Cos'è wrenlog?", "Come funziona wrenlog?"),
        *("Para que serve o wrenlog?", "Como funciona wrenlog?", "Waarvoor dient wrenlog?", "Wat doet wrenlog?"),
        *("Vad gör wrenlog?", "Hvad gør wrenlog?", "Hva gjør wrenlog?", "Do czego służy wrenlog?"),
        *("Co robi wrenlog?", "wrenlog ne işe yarar?", "wrenlog ne yapar?", "wrenlog là gì?"),
        *("Для чего нужен wrenlog?", "Что делает WrenlogProtocolViewer?", "WrenlogProtocolViewer是什么？"),
        *("WrenlogProtocolViewer는 뭐예요?", "ما هو WrenlogProtocolViewer؟", "מה עושה WrenlogProtocolViewer?"),
        "Wann spielt The Wrenlog?",  # the words of a name do not tell
    ],
)
@pytest.mark.parametrize("answer", ["Wrenlog is a viewer for the logs of a service.", "Shows logs [1]."])
def test_an_english_answer_is_for_no_short_question_in_another_language(asked: str, answer: str) -> None:
    assert compare("What does wrenlog do?", asked, answer) == "language"


@pytest.mark.parametrize("name", ["ben hur", "chi squared", "cosa nostra", "fa cup", "wat pho", "hoe", "kim jong"])
def test_names_and_english_words_are_no_other_language(name: str) -> None:
    assert compare(f"What is the {name}?", name, f"The {name} is what it is called by all who know of it.") is None


@pytest.mark.parametrize("asked", ["Who made wrenlog?", "Why wrenlog?", "Does wrenlog sort?", "Explain wrenlog"])
def test_a_german_answer_is_for_no_short_question_in_english(asked: str) -> None:
    assert compare("Was ist wrenlog?", asked, "Wrenlog ist ein Betrachter für die Protokolle.") == "language"


@pytest.mark.parametrize(
    ("stored", "asked", "answer"),
    [
        ("What colour is the flag?", "What color is the flag?", "Green."),
        ("A car of 2,000 kg on the ferry?", "A car of 2000 kg on the ferry?", "55 crowns."),
        ("Who wrote the opera Tamarisk?", "Who is the author of the opera Tamarisk?", "Lena Quist wrote it."),
        ("How do I cancel a subscription?", "How can I cancel my subscription, please?", "Under Plans."),
        ("Which trains go between Hild and Marn?", "Which trains go between Marn and Hild?", "6 and 7."),
        ("When did Lena Quist die?", "In what year did Lena Quist pass away?", "In 2004."),
        ("¿Cuál es la capital de Morvia?", "¿Cómo se llama la capital de Morvia?", "Selk."),
        ("What is the emergency number?", "Which number do I call in an emergency?", "118."),
        ("Wie kündige ich mein Abo bei Hild?", "Wie kann ich mein Hild-Abo kündigen?", "Unter Konto."),
        ("Did Ada Riis sue Bo Falk?", "Was Bo Falk sued by Ada Riis?", "Yes."),
        ("Which mushrooms are not poisonous?", "Which mushrooms are harmless?", "The white ones."),
        ("When was Skiff 2 released?", "When was Skiff released?", "Skiff 2 was released in May."),
        ("What does the lift cost?", "What does the lift cost in 2026?", "In 2026 it costs 5 crowns."),
        ("Wie lange dauert die Überfahrt?", "Dauer der Überfahrt", "35 Minuten."),
        ("塔尔恩图书馆几点开门？", "请问塔尔恩图书馆什么时候开门？", "九点开门。"),
        ("How do I run skiff without marl2?", "How can skiff run without MARL/2?", "Pass --plain."),
        ("Wofür ist wrenlog da?", "Wofür ist Wrenlog?", "Wrenlog zeigt Protokolle."),
        ("What does wrenlog do?", "What does Wrenlog do?", "Shows logs."),
    ],
)
def test_other_words_for_the_same_make_none(stored: str, asked: str, answer: str) -> None:
    assert compare(stored, asked, answer) is None


@pytest.mark.parametrize(
    ("question", "days", "hours", "kind"),
    [
        ("What is the weather in Velm today?", 1, None, DifferenceKind.TIME),
        ("Is the tunnel open right now?", 0.1, None, DifferenceKind.TIME),
        ("Quelle est la dernière version de Pintle ?", 3, None, DifferenceKind.TIME),
        ("How much does a Pim bike cost?", 8, None, DifferenceKind.TIME),
        ("How much does a Pim bike cost?", 6, None, None),
        ("How tall is the tower?", 29, None, None),
        ("Who leads the Orlan club?", 2, 24, DifferenceKind.TIME),
    ],
)
def test_an_answer_holds_as_long_as_its_words_for_time_and_the_model_say(
    question: str, days: float, hours: int | None, kind: DifferenceKind | None
) -> None:
    assert compare(question, question, "88.", days=days, hours=hours) == kind


@pytest.mark.parametrize(
    "answer",
    [
        "The search results do not say when the market opens.",
        "Die Suchergebnisse enthalten keine Angaben dazu.",
        "Aucune information n'est disponible.",
        "搜索结果中没有提到。",
        "I'm sorry, but I can't help with that.",
    ],
)
def test_a_text_that_says_that_there_is_no_answer_is_recognized(answer: str) -> None:
    assert holds_no_answer(answer)


def test_an_answer_about_searching_is_an_answer() -> None:
    assert not holds_no_answer("Press Ctrl+F to find text; a page without hits is shown in grey.")


def test_a_long_answer_covers_more_than_its_question() -> None:
    long_answer = "Wrenlog is installed with apt. " * 20
    assert compare("How do I install Wrenlog?", "Which licence does Wrenlog have?", long_answer) is None
