"""How closely passages say the words of a question, and what that changes in the evidence needed and in their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.extractive._alignment import MAX_BONUS, MAX_PASSAGES, Alignment, align
from gleaner_local.extractive._conversation import Passage
from gleaner_local.extractive.judging import ENOUGH, Judge
from gleaner_local.extractive.question import read_question
from gleaner_local.index.embedder import DIMENSIONS, Embedder, TokenVectors

QUESTION = "Who repaired the organ of the church?"
ANSWER = "Ida Lund mended the church's organ in 1904."
NEAR = (
    "The church keeps its old organ in the loft.",
    "Sundays are the days on which the organ of the church is played.",
    "The organ of the church has forty pipes.",
)
UNRELATED = "Bread is baked at night."


def alignment(*contents: str, question: str = QUESTION) -> Alignment:
    passages = {f"kb-{number}": content for number, content in enumerate(contents)}
    return align(Embedder.installed().embed_tokens, question, read_question(question).weights, passages)


def test_a_passage_with_the_answer_needs_less_evidence_than_passages_near_the_subject() -> None:
    assert alignment(ANSWER, UNRELATED).bonus > 0.0
    assert alignment(ANSWER, *NEAR).bonus > alignment(*NEAR).bonus


def test_the_answer_is_closer_in_other_words() -> None:
    closeness = alignment(NEAR[0], ANSWER).closeness
    assert closeness["kb-1"] > closeness["kb-0"]


def test_what_is_not_about_the_question_is_far_and_needs_more_evidence() -> None:
    far = alignment(UNRELATED, "Bicycles travel free on the tram.")
    assert far.bonus < 0.0
    assert max(far.closeness.values()) < min(alignment(*NEAR).closeness.values())


def test_only_the_best_passages_are_read() -> None:
    assert len(alignment(ANSWER, *NEAR).closeness) == MAX_PASSAGES


@pytest.mark.parametrize("contents", [(), (ANSWER,), (ANSWER, ANSWER), (ANSWER, "\u200b"), ("", "")])
def test_without_another_passage_to_compare_with_the_bound_stays(contents: tuple[str, ...]) -> None:
    assert alignment(*contents).bonus == 0.0


@given(st.text(min_size=1, max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_any_texts_give_a_limited_bonus(question: str, contents: list[str]) -> None:
    result = alignment(*contents, question=question)
    assert abs(result.bonus) <= MAX_BONUS
    assert all(-1.001 <= closeness <= 1.001 for closeness in result.closeness.values())


def test_token_vectors_have_their_place_in_the_text() -> None:
    text = "Ida mended the organ. " * 90  # more than one window
    vectors, spans = Embedder.installed().embed_tokens(text)
    assert vectors.shape == (len(spans), DIMENSIONS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
    assert {text[start:end].casefold() for start, end in spans} >= {"ida", "the", "organ", "."}
    assert max(end for _, end in spans) == len(text.rstrip())


def passages(*scores: float, contents: tuple[str, ...] = NEAR) -> list[Passage]:
    empty = Passage("", "", 0.0, external=False, title="", chapter="", keywords=())
    return [
        replace(empty, id=f"kb-{number}", content=content, score=score)
        for number, (content, score) in enumerate(zip(contents, scores, strict=True))
    ]


@pytest.mark.parametrize(("score", "decides"), [(0.2, False), (0.5, True), (0.95, False)])
def test_passages_are_read_only_where_their_words_can_decide(
    score: float, decides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.installed()
    read: list[str] = []

    def record(text: str) -> TokenVectors:
        read.append(text)
        return TokenVectors(np.eye(1, DIMENSIONS, dtype=np.float32), [(0, len(text))])

    monkeypatch.setattr(embedder, "embed_tokens", record)
    judgement = Judge(embedder).judge(QUESTION, passages(score, score, score))
    assert (QUESTION in read) is decides
    assert judgement.enough_from == ENOUGH  # these vectors say that all passages are the same


def test_the_closer_of_two_passages_with_similar_scores_is_first() -> None:
    contents = (NEAR[0], ANSWER, UNRELATED)
    judgement = Judge.installed().judge(QUESTION, passages(0.5, 0.47, 0.1, contents=contents))
    assert judgement.ranked[0].id == "kb-1"
    assert judgement.enough_from < ENOUGH


def test_closeness_does_not_outweigh_a_clearly_better_score() -> None:
    contents = (NEAR[0], ANSWER, UNRELATED)
    judgement = Judge.installed().judge(QUESTION, passages(0.5, 0.1, 0.1, contents=contents))
    assert judgement.ranked[0].id == "kb-0"


PRICE = (
    "The tank holds three million litres. The price was 750 crowns. The gas is kept below a limit.",
    "The tide was high at noon. The price is not known.",
)


def test_a_passage_with_all_words_needs_no_more_evidence() -> None:
    question = "What was the price?"
    assert alignment(*PRICE, question=question).bonus < 0.0
    judgement = Judge.installed().judge(question, passages(0.28, 0.22, contents=PRICE))
    assert judgement.enough_from == ENOUGH


def test_the_only_passage_of_a_search_is_quoted_with_less_evidence() -> None:
    judge, [one, other] = Judge.installed(), passages(0.31, 0.30, contents=PRICE)
    assert judge.judge("What was the price?", [one]).usable
    assert not judge.judge("What was the price?", [one, replace(other, content=one.content)]).usable
