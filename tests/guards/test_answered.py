"""How far an answer answers its question: the model's judgement, lowered by what the sources lack."""

from __future__ import annotations

import pytest

from gleaner.guards.answered import judge_answered
from gleaner.model import Answered, Passage, SourceType

LIBRARY = (
    "The library of Orvel opens at nine on Mondays. A reader may borrow seven books at once, with the card of 2024."
)
GERMAN = (
    "Die Bibliothek von Orvel öffnet am Montag um neun Uhr. Wer eine Karte hat, leiht dort bis zu sieben Bücher aus."
)


def judge(
    question: str,
    answer: str = "Seven. [kb-1]",
    content: str = LIBRARY,
    *,
    claim: Answered | None = Answered.FOUND,
    stands_alone: bool = True,
) -> Answered:
    passage = Passage(
        key="k", id="kb-1", content=content, score=0.8, source_type=SourceType.KNOWLEDGE_BASE, title="Orvel"
    )
    return judge_answered(question, answer, [passage], claim=claim, stands_alone=stands_alone)


@pytest.mark.parametrize("claim", [None, *Answered])
def test_the_judgement_of_the_model_is_never_raised(claim: Answered | None) -> None:
    assert judge("How many books may a reader borrow?", claim=claim) is (claim or Answered.FOUND)


@pytest.mark.parametrize("claim", [None, *Answered])
def test_an_answer_without_sources_is_not_found(claim: Answered | None) -> None:
    assert judge_answered("Which books?", "All.", [], claim=claim, stands_alone=True) is Answered.NOT_FOUND


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Who painted the fresco in the chapel of Orvel and was paid in silver?", LIBRARY),
        ("Which fine is due at the library when the book is torn or wet in 1994?", LIBRARY),
        ("Wer hat das Fresko in der Kapelle gemalt, und wann wurde die Orgel verkauft?", GERMAN),
        ("谁设计了港口的灯塔和旧桥？", "图书馆星期一九点开门，谁都可以借七本书。"),
    ],
)
def test_an_answer_is_partial_if_its_sources_lack_the_topic_or_a_number(question: str, content: str) -> None:
    assert judge(question, "So it is. [kb-1]", content) is Answered.PARTLY


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Wie viele Bücher darf ein Leser gleichzeitig ausleihen?", LIBRARY),  # in another language
        ("When may I come?", LIBRARY),  # one term
        ("Explain the opening of Orvel's library in 3 sentences.", LIBRARY),
        ("What does the card of 2024 allow a reader to borrow?", LIBRARY),
        ("Wann öffnen die Bibliotheken?", GERMAN),
        (f"Why is this? {' '.join(f'unrelated{n}' for n in range(30))} 1994", LIBRARY),  # pasted text
    ],
)
def test_an_answer_is_found_if_the_sources_may_hold_it(question: str, content: str) -> None:
    assert judge(question, "Seven Bücher. [kb-1]", content) is Answered.FOUND


def test_a_follow_up_need_not_name_its_topic() -> None:
    question = "Is that the same with the younger pupils on other days in 1994?"
    assert judge(question) is Answered.PARTLY
    assert judge(question, stands_alone=False) is Answered.FOUND


@pytest.mark.parametrize(
    ("question", "number", "none"),
    [
        ("How many books may I borrow?", "Seven. [kb-1]", "Books are lent. [kb-2]"),
        ("How many books may I borrow?", "As many as you like.", "Notes and onions are lent."),
        ("In which year did it open?", "In MCMXC, that is, 1990.", "In spring."),
        ("Wie viele Bücher darf ich ausleihen?", "Höchstens sieben.", "Bücher werden verliehen."),
        ("Combien de livres puis-je emprunter ?", "Sept livres.", "Les livres se prêtent."),
        ("¿Cuántos libros puedo sacar?", "Ninguno.", "Los libros se prestan."),
        ("Kaç kitap alabilirim?", "Yedi kitap.", "Kitaplar verilir."),
        ("Сколько книг можно взять?", "Семь книг.", "Книги выдают."),
        ("كم كتابا يمكن أن أستعير؟", "سبعة كتب.", "تعار الكتب."),
        ("כמה ספרים אפשר לשאול?", "שבעה ספרים.", "משאילים ספרים."),
        ("मैं कितनी किताबें ले सकता हूँ?", "सात किताबें।", "किताबें मिलती हैं।"),
        ("可以借多少本书？", "七本。", "书可以借。"),
        ("本は何冊借りられますか。", "七冊です。", "本は借りられます。"),
        ("책을 몇 권 빌릴 수 있나요?", "일곱 권.", "책을 빌려요."),
        ("ยืมหนังสือได้กี่เล่ม", "เจ็ดเล่ม", "ยืมหนังสือได้"),
    ],
)
def test_a_question_for_a_number_needs_one_in_the_answer(question: str, number: str, none: str) -> None:
    assert judge(question, number, stands_alone=False) is Answered.FOUND
    assert judge(question, none, stands_alone=False) is Answered.PARTLY
