"""Judges whether the passages at hand answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gleaner_local.extractive._conversation import Passage
from gleaner_local.extractive.question import Question, read_question
from gleaner_local.extractive.scoring import ScoredText, Text, score_texts
from gleaner_local.index.embedder import Embedder, Vectors, WeightsMissing, unit_mean


@dataclass(frozen=True, slots=True)
class _Scale:
    """How the score of a passage and the share of the question's words it covers make its evidence."""

    score_share: float
    enough: float  # the mean at which the web need not be asked


# How these were found, and what they give, is in docs/decisions/0003-extractive-model.md.
_KNOWLEDGE_BASE = _Scale(0.85, 0.38)
_STORED_BY_MEANING = _Scale(0.7, 0.57)  # the score is the cosine of question and stored answer
_STORED_BY_WORDS = _Scale(0.5, 0.75)  # found with a former score of the search (a share of terms): find it anew

ENOUGH = _KNOWLEDGE_BASE.enough
USABLE = 0.30  # worth quoting when nothing better can be had
# How well the best sentence fits decides between close passages.
RANK_BY_SENTENCE = 0.1
# What a stored answer is about stands at its beginning; the rest would only cost time.
MEANING_CHARS = 300


@dataclass(frozen=True, slots=True)
class Judgement:
    """The passages with their evidence, best first.

    Evidence says how strongly a passage bears on the question, on one scale for both kinds of passage.
    """

    question: Question
    ranked: tuple[ScoredText, ...]
    evidence: dict[str, float]

    @property
    def strongest(self) -> float:
        """The evidence of the strongest passage, 0 when there is none."""
        return max(self.evidence.values(), default=0.0)

    @property
    def enough(self) -> bool:
        """Whether the passages answer the question, so that the web need not be asked."""
        return self.strongest >= ENOUGH

    @property
    def usable(self) -> bool:
        """Whether the best passage is close enough to the question to be quoted at all."""
        return self.strongest >= USABLE


class Judge:
    """Judges by words and by the scores of the search; stored web answers by meaning too, given an embedder.

    The keywords of a stored answer are shared by answers to quite different questions, and words alone do
    not tell these apart.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._vector = lru_cache(maxsize=512)(self._embed)
        self._stored = _STORED_BY_WORDS if embedder is None else _STORED_BY_MEANING

    @classmethod
    def installed(cls) -> Judge:
        """A judge with the installed weights, which are loaded when first needed; by words when they are missing."""
        try:
            return cls(Embedder.installed())
        except WeightsMissing:
            return cls(None)

    def judge(self, query: str, passages: Sequence[Passage]) -> Judgement:
        """The passages scored for `query`, a question that stands on its own."""
        question = read_question(query)
        scored = score_texts(question, [self._to_text(query, p) for p in passages if p.content])
        evidence = {text.id: self._evidence(text) for text in scored}
        # The search has the order of its own passages mostly right, and covering more words does not mend it.
        leading = {text.id: evidence[text.id] if text.stored else text.prior for text in scored}
        ranked = sorted(scored, key=lambda text: (-leading[text.id] - RANK_BY_SENTENCE * text.best, text.id))
        return Judgement(question, tuple(ranked), evidence)

    def _to_text(self, query: str, passage: Passage) -> Text:
        context = " ".join((passage.title, passage.chapter, *passage.keywords))
        score = passage.score
        if passage.external and self._embedder is not None:
            about = f"{passage.title}. {', '.join(passage.keywords)}. {passage.content}"
            score = max(0.0, float(self._vector(query) @ self._vector(about[:MEANING_CHARS])))
        return Text(passage.id, passage.content, score, context, stored=passage.external)

    def _evidence(self, text: ScoredText) -> float:
        scale = self._stored if text.stored else _KNOWLEDGE_BASE
        mean = scale.score_share * text.prior + (1 - scale.score_share) * text.coverage
        return max(0.0, mean + ENOUGH - scale.enough)

    def _embed(self, text: str) -> Vectors:
        if self._embedder is None:
            raise AssertionError("there is no embedder")
        return unit_mean(self._embedder.embed([text])[0])
