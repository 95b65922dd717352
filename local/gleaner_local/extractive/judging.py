"""Judges whether the retrieved passages answer a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gleaner_local.extractive._alignment import MAX_BONUS, align
from gleaner_local.extractive._conversation import Passage
from gleaner_local.extractive._headings import find_own_headings
from gleaner_local.extractive.question import Question, read_question
from gleaner_local.extractive.scoring import ScoredText, Text, missing_share, score_texts
from gleaner_local.index.embedder import Embedder, TokenVectors, Vectors, WeightsMissing, unit_mean


@dataclass(frozen=True, slots=True)
class _Scale:
    """How the score of a passage and its coverage of the question's words are combined into its evidence.

    `usable` is the bound where the web cannot be asked: what is below `enough` is called a partial answer. There a
    passage needs `lead_share` less for its lead over the second, and `alone` less if the search found no second.
    """

    score_share: float
    enough: float  # the mean from which on no web search is needed
    usable: float
    lead_share: float = 0.0
    alone: float = 0.0


# docs/decisions/0003-extractive-model.md says how these were measured and what they achieve.
_KNOWN = _Scale(0.85, 0.47, 0.47, lead_share=0.03, alone=0.06)
_WITHOUT_EMBEDDER = _Scale(0.85, 0.47, 0.39)
# The embedder does not know the language, so that the score is of words alone.
_UNKNOWN = _Scale(0.6, 0.43, 0.39, lead_share=0.06, alone=0.06)
_STORED_BY_MEANING = _Scale(0.7, 0.57, 0.57)  # the score is the cosine of question and stored answer
_STORED_BY_WORDS = _Scale(0.5, 0.75, 0.75)  # measured with an earlier search score (a share of terms): measure it again

ENOUGH = 0.38
MIN_FAMILIARITY = 0.5
# A heading with a higher cosine to the question asks the same, so that the passage answers it, in whatever words.
MIN_HEADING_COSINE, HEADING_SHARE = 0.6, 0.8
# A heading says less about which passage answers best than about whether one answers.
RANK_BY_HEADING = 0.4
# The fit of the best sentence decides between passages with similar evidence.
RANK_BY_SENTENCE = 0.1
# The search for a question with words of earlier turns finds what these are about: then the sentence tells more.
RANK_BY_SENTENCE_OF_FOLLOW_UP = 0.5
# What is close to the question word by word decides between two passages whose evidence is uncertain.
RANK_BY_CLOSENESS = 1.0
# The beginning of a stored answer names its topic; embedding the rest would only cost time.
MAX_TOPIC_CHARS = 300


@dataclass(frozen=True, slots=True)
class Judgement:
    """The passages with their evidence, best first.

    Evidence says how relevant a passage is to the question, on one scale for both kinds of passage. From `enough_from`
    on it answers the question; `usable_from` is the bound where the web cannot be asked.
    """

    question: Question
    ranked: tuple[ScoredText, ...]
    evidence: dict[str, float]
    enough_from: float
    usable_from: float

    @property
    def strongest(self) -> float:
        """The evidence of the strongest passage, 0 when there is none."""
        return max(self.evidence.values(), default=0.0)

    @property
    def enough(self) -> bool:
        """Whether the passages answer the question, so that no web search is needed."""
        return self.strongest >= self.enough_from

    @property
    def usable(self) -> bool:
        """Whether the best passage is relevant enough to be quoted without asking the web."""
        return self.strongest >= self.usable_from


class Judge:
    """Judges by words and search scores and, given an embedder, stored web answers by meaning too.

    Answers to quite different questions share keywords, so words alone cannot distinguish stored answers.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._vector = lru_cache(maxsize=512)(self._embed)
        self._tokens = lru_cache(maxsize=64)(self._embed_tokens)  # 260 kB for each passage of 170 tokens
        self._stored = _STORED_BY_WORDS if embedder is None else _STORED_BY_MEANING

    @classmethod
    def installed(cls) -> Judge:
        """A judge with the installed weights, which are loaded lazily; without weights it judges by words."""
        try:
            return cls(Embedder.installed())
        except WeightsMissing:
            return cls(None)

    def judge(self, query: str, passages: Sequence[Passage], question: Question | None = None) -> Judgement:
        """Score the passages for `query`, which stands alone; `question` is what it was made from, if another."""
        rank_by_sentence = RANK_BY_SENTENCE_OF_FOLLOW_UP if question else RANK_BY_SENTENCE
        question = question or read_question(query)
        passage_texts = [self._to_text(query, passage) for passage in passages if passage.content]
        texts = score_texts(question, passage_texts)
        # Passages about another town than the one that is asked for resemble the question and do not answer it.
        certainty = 1.0 - missing_share(question, passage_texts)
        scale = self._scale_of(passages)
        headings = self._compare_headings(query, passages) if scale is _KNOWN else {}
        evidence = {
            text.id: certainty * self._evidence(text, scale, headings.get(text.id, 0.0))
            if _names_required(text, question)
            else 0.0
            for text in texts
        }
        # The search mostly orders its own passages correctly. Word coverage does not improve their order, headings do.
        relevance = {
            text.id: evidence[text.id] if text.stored else text.prior + RANK_BY_HEADING * headings.get(text.id, 0.0)
            for text in texts
        }
        asked_for = [text for text in texts if _names_required(text, question)]
        order = {text.id: relevance[text.id] + rank_by_sentence * text.best for text in asked_for}
        ranked = sorted(asked_for, key=lambda text: (-order[text.id], text.id))
        judgement = Judgement(question, tuple(ranked), evidence, ENOUGH, _usable_from(ENOUGH, scale, texts))
        if scale is not _KNOWN or not _is_uncertain(judgement) or any(text.stored for text in texts):
            return judgement
        return self._judge_closely(query, judgement, order, passages)

    def _judge_closely(
        self, query: str, judgement: Judgement, order: Mapping[str, float], passages: Sequence[Passage]
    ) -> Judgement:
        """Let the words of the best passages, and of the headings that tell them from others, decide."""
        headings = find_own_headings(passages)
        texts = {p.id: f"{headings[p.id]}\n{p.content}" if p.id in headings else p.content for p in passages}
        best_first = {text.id: texts[text.id] for text in judgement.ranked}
        alignment = align(self._tokens, query, judgement.question.weights, best_first)
        # A passage that has all words of the question says nothing else, whatever stands beside it.
        bonus = max(0.0, alignment.bonus) if judgement.ranked[0].coverage >= 1.0 else alignment.bonus
        closest = {key: value + RANK_BY_CLOSENESS * alignment.closeness.get(key, 0.0) for key, value in order.items()}
        return replace(
            judgement,
            ranked=tuple(sorted(judgement.ranked, key=lambda text: (-closest[text.id], text.id))),
            enough_from=judgement.enough_from - bonus,
            usable_from=judgement.usable_from - bonus,
        )

    def _to_text(self, query: str, passage: Passage) -> Text:
        context = " ".join((passage.title, passage.chapter, *passage.keywords))
        score = passage.score
        if passage.external and self._embedder is not None:
            topic = f"{passage.title}. {', '.join(passage.keywords)}. {passage.content}"
            topics = [topic, passage.answers] if passage.answers else [topic]
            score = max(0.0, *(float(self._vector(query) @ self._vector(part[:MAX_TOPIC_CHARS])) for part in topics))
        return Text(passage.id, passage.content, score, context, stored=passage.external)

    def _evidence(self, text: ScoredText, own: _Scale, heading: float) -> float:
        scale = self._stored if text.stored else own
        mean = scale.score_share * text.prior + (1 - scale.score_share) * text.coverage
        return max(0.0, mean + HEADING_SHARE * heading + ENOUGH - scale.enough)

    def _compare_headings(self, query: str, passages: Sequence[Passage]) -> Mapping[str, float]:
        """By how much the cosine of each passage's heading to the query exceeds that of another question."""
        return {
            passage_id: max(0.0, float(self._vector(query) @ self._vector(heading)) - MIN_HEADING_COSINE)
            for passage_id, heading in find_own_headings(passages).items()
        }

    def _scale_of(self, passages: Sequence[Passage]) -> _Scale:
        if self._embedder is None:
            return _WITHOUT_EMBEDDER
        if not passages:
            return _KNOWN
        [familiarity] = self._embedder.familiarity([passages[0].content])
        return _KNOWN if familiarity >= MIN_FAMILIARITY else _UNKNOWN

    def _embed(self, text: str) -> Vectors:
        if self._embedder is None:
            raise AssertionError("there is no embedder")
        return unit_mean(self._embedder.embed([text])[0])

    def _embed_tokens(self, text: str) -> TokenVectors:
        if self._embedder is None:
            raise AssertionError("there is no embedder")
        return self._embedder.embed_tokens(text)


def _names_required(text: ScoredText, question: Question) -> bool:
    return not question.required or not question.required.isdisjoint(text.matches)


def _usable_from(enough_from: float, scale: _Scale, texts: Sequence[ScoredText]) -> float:
    return enough_from - scale.enough + scale.usable - _share_of_lead(scale, texts)


def _share_of_lead(scale: _Scale, texts: Sequence[ScoredText]) -> float:
    """By how much less evidence is needed for a lead; 0 with stored answers, whose score is on another scale."""
    scores = sorted((text.prior for text in texts if text.prior > 0), reverse=True)
    if not scores or any(text.stored for text in texts):
        return 0.0
    return scale.alone if len(scores) == 1 else scale.lead_share * (1.0 - scores[1] / scores[0])


def _is_uncertain(judgement: Judgement) -> bool:
    """Whether the question's alignment with the passages could decide."""
    return judgement.usable_from - MAX_BONUS <= judgement.strongest < judgement.enough_from + MAX_BONUS
