"""The evidence that is needed of passages, by how far the best sentence is ahead of those of the other passages."""

from __future__ import annotations

import numpy as np
import pytest

from gleaner_local.extractive._conversation import Passage
from gleaner_local.extractive._sentence_lead import MAX_BONUS, sentence_lead_bonus
from gleaner_local.extractive.judging import ENOUGH, Judge
from gleaner_local.extractive.question import read_question
from gleaner_local.extractive.scoring import Text, score_texts
from gleaner_local.index.embedder import Embedder, Vectors, unit_mean

QUESTION = "Who repaired the organ of the church?"
ANSWER = "Ida Lund mended the church's organ in 1904."
NEAR = (
    "The organ of the church has forty pipes.",
    "The church keeps its old organ in the loft.",
    "The organ of the church is played on Sundays.",
)


def embed(text: str) -> Vectors:
    return unit_mean(Embedder.installed().embed([text])[0])


def bonus(*contents: str, headings: dict[str, str] | None = None) -> float:
    texts = [Text(f"kb-{number}", content, 0.5) for number, content in enumerate(contents)]
    return sentence_lead_bonus(embed, QUESTION, score_texts(read_question(QUESTION), texts), headings or {})


def test_a_passage_with_the_answer_needs_less_evidence_than_passages_near_the_subject() -> None:
    unrelated = "Bread is baked at night."
    assert bonus(ANSWER, unrelated, "Bicycles travel free.") > 0.0
    assert bonus(ANSWER, unrelated, "Bicycles travel free.") > bonus(*NEAR)
    assert bonus(*NEAR) < 0.0


def test_a_passage_that_says_the_same_takes_nothing_from_the_lead() -> None:
    unrelated = "Bread is baked at night."
    assert bonus(ANSWER, ANSWER, unrelated) == pytest.approx(bonus(ANSWER, unrelated))
    assert bonus(ANSWER, ANSWER) == 0.0


def test_without_other_passages_there_is_no_lead() -> None:
    assert bonus(ANSWER) == 0.0
    assert bonus() == 0.0


def test_a_heading_that_asks_the_same_leads() -> None:
    contents = ("She came in 1904.", "The church stands on the hill.", "The church is open on Sundays.")
    assert bonus(*contents, headings={"kb-0": QUESTION}) > bonus(*contents)


def test_the_bonus_is_limited() -> None:
    sentences = (QUESTION, ANSWER, *NEAR, "Bread is baked at night.")
    assert all(abs(bonus(first, second)) <= MAX_BONUS for first in sentences for second in sentences)


@pytest.mark.parametrize(("score", "decides"), [(0.2, False), (0.5, True), (0.95, False)])
def test_sentences_are_embedded_only_where_their_lead_can_decide(
    score: float, decides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.installed()
    embedded: list[str] = []

    def record(texts: list[str]) -> list[Vectors]:
        embedded.extend(texts)
        return [np.eye(1, 384, dtype=np.float32) for _ in texts]

    monkeypatch.setattr(embedder, "embed", record)
    passages = [
        Passage(f"kb-{number}", content, score, external=False, title="", chapter="", keywords=())
        for number, content in enumerate(NEAR)
    ]
    judgement = Judge(embedder).judge(QUESTION, passages)
    assert (QUESTION in embedded) is decides
    assert judgement.enough_from == ENOUGH  # these vectors say that all sentences are the same
