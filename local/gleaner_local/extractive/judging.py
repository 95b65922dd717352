"""Judges whether the passages at hand answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner_local.extractive.conversation import Passage
from gleaner_local.extractive.question import Question, read_question
from gleaner_local.extractive.scoring import ScoredText, Text, score_texts

# The evidence of a passage is a mean of the score of the search and of the share of the question's words that it
# covers. How the bounds were found, and what they give, is in docs/decisions/0003-extractive-model.md.
SEARCH_SHARE = 0.85
ENOUGH = 0.40  # no need to ask the web
USABLE = 0.30  # worth quoting when nothing better can be had
# The order of the search is mostly right; how well the best sentence fits decides between close passages.
RANK_BY_SENTENCE = 0.1


@dataclass(frozen=True, slots=True)
class Judgement:
    """The passages, best first, and the evidence (0 to 1) that the first of them answers the question."""

    question: Question
    ranked: tuple[ScoredText, ...]
    evidence: float

    @property
    def enough(self) -> bool:
        """Whether the passages answer the question, so that the web need not be asked."""
        return self.evidence >= ENOUGH

    @property
    def usable(self) -> bool:
        """Whether the best passage is close enough to the question to be quoted at all."""
        return self.evidence >= USABLE


def judge(query: str, passages: Sequence[Passage]) -> Judgement:
    """The passages scored for `query`, a question that stands on its own."""
    question = read_question(query)
    texts = [Text(p.id, p.content, p.score, " ".join((p.title, p.chapter, *p.keywords))) for p in passages if p.content]
    scored = score_texts(question, texts)
    ranked = tuple(sorted(scored, key=lambda text: (-_rank(text), text.id)))
    return Judgement(question, ranked, max((evidence_of(text) for text in ranked), default=0.0))


def evidence_of(text: ScoredText) -> float:
    """How strongly a passage bears on the question, 0 to 1."""
    return SEARCH_SHARE * text.prior + (1 - SEARCH_SHARE) * text.coverage


def _rank(text: ScoredText) -> float:
    return text.prior + RANK_BY_SENTENCE * text.best
