"""Scores the sentences of passages by how well they answer a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gleaner.text import stem, words
from gleaner_local.extractive._sentences import Sentence, split_passage
from gleaner_local.extractive.question import Question, fits

# A word in the heading, or in the sentence before, helps to place a sentence but is not in it.
NEAR_SHARE = 0.4
PAIR_BONUS = 0.12
PAIR_DISTANCE = 3  # words
KIND_BONUS = 0.15
PASSAGE_SHARE = 0.5
FRAGMENT_FACTOR = 0.7  # "Run this:" is little without what follows it, and "Google." without what is around it
SHORT_SENTENCE_WORDS = 3
# Two sentences say the same when the shorter one's words are to this share in the other.
SAME_SHARE = 0.8
# Longer sentences hold more words by chance alone: beyond this many words a match counts less.
LONG_SENTENCE_WORDS = 40


@dataclass(frozen=True, slots=True)
class Text:
    """A passage to score. `prior` is the score of the search, 0 to 1; `context` is its title and keywords.

    `stored` tells a web answer that was learned earlier from a passage of the knowledge base.
    """

    id: str
    content: str
    prior: float
    context: str = ""
    stored: bool = False


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of passage `text_id`, at `position` in it. `score` orders sentences; it is not bounded by 1."""

    text_id: str
    position: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A passage with the weighted share of the question's words it holds (0 to 1), and its sentences in order."""

    id: str
    prior: float
    stored: bool
    coverage: float
    sentences: tuple[ScoredSentence, ...]

    @property
    def best(self) -> float:
        """The score of the best sentence, 0 when there is none."""
        return max((sentence.score for sentence in self.sentences), default=0.0)


@lru_cache(maxsize=4096)
def stem_sequence(text: str) -> tuple[str, ...]:
    """The stems of all words of `text`, in order."""
    return tuple(stem(word) for word in words(text))


@lru_cache(maxsize=1024)
def _sentences(content: str) -> tuple[Sentence, ...]:
    return tuple(split_passage(content))


def score_texts(question: Question, texts: Sequence[Text]) -> list[ScoredText]:
    """Every passage scored, in the given order."""
    weights = _rarity_weights(question, texts)
    return [_score_text(question, weights, text) for text in texts]


def distinct(sentences: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """The sentences without those that say again what one before them says, judged by their words."""
    kept: list[ScoredSentence] = []
    said: list[set[str]] = []
    for sentence in sentences:
        own = set(stem_sequence(sentence.text))
        if any(len(own & other) >= SAME_SHARE * min(len(own), len(other)) for other in said):
            continue
        kept.append(sentence)
        said.append(own)
    return kept


def _rarity_weights(question: Question, texts: Sequence[Text]) -> dict[str, float]:
    """The question's weights times how rare each word is among the sentences at hand."""
    stems = [set(stem_sequence(sentence.text)) for text in texts for sentence in _sentences(text.content)]
    total = len(stems)
    weights = {}
    for key, weight in question.weights.items():
        holding = sum(key in sentence for sentence in stems)
        weights[key] = weight * math.log(2.0 + (total - holding) / (holding + 1.0))
    return weights


def _score_text(question: Question, weights: Mapping[str, float], text: Text) -> ScoredText:
    all_weight = sum(weights.values()) or 1.0
    sentences = _sentences(text.content)
    context = set(stem_sequence(text.context))
    held = context.union(*(stem_sequence(part) for s in sentences for part in (s.text, s.heading)))
    scored = []
    before: set[str] = set()
    for position, sentence in enumerate(sentences):
        sequence = stem_sequence(sentence.text)
        own = set(sequence)
        near = (before | context | set(stem_sequence(sentence.heading))) - own
        own_share = sum(weight for key, weight in weights.items() if key in own) / all_weight
        near_share = sum(weight for key, weight in weights.items() if key in near) / all_weight
        matched = (own_share + NEAR_SHARE * near_share) * _length_factor(len(sequence))
        if sentence.text.endswith(":") or len(sequence) < SHORT_SENTENCE_WORDS:
            matched *= FRAGMENT_FACTOR
        bonus = PAIR_BONUS * _pair_share(question.order, sequence)
        bonus += KIND_BONUS * own_share if fits(question.kind, sentence.text) else 0.0
        score = matched + bonus + PASSAGE_SHARE * text.prior
        scored.append(ScoredSentence(text.id, position, sentence.text, score))
        before = own
    coverage = sum(weight for key, weight in weights.items() if key in held) / all_weight
    return ScoredText(text.id, text.prior, text.stored, coverage, tuple(scored))


def _length_factor(length: int) -> float:
    return min(1.0, math.pow(LONG_SENTENCE_WORDS / max(length, 1), 0.3))


def _pair_share(order: Sequence[str], sequence: Sequence[str]) -> float:
    """The share of neighbouring words of the question that stand close to each other."""
    pairs = [(a, b) for a, b in pairwise(order) if a != b]
    if not pairs:
        return 0.0
    places: dict[str, list[int]] = {}
    for place, key in enumerate(sequence):
        places.setdefault(key, []).append(place)
    close = sum(
        any(abs(i - j) <= PAIR_DISTANCE for i in places.get(a, ()) for j in places.get(b, ())) for a, b in pairs
    )
    return close / len(pairs)
