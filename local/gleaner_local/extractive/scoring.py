"""Scores the sentences of passages by how well they answer a question."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gleaner.text import stem, words
from gleaner_local.extractive._sentences import Sentence, split_passage
from gleaner_local.extractive.question import MAX_EARLIER_SHARE, Question, fits

# A word in the heading or in the sentence before counts less than a word in the sentence itself.
CONTEXT_SHARE = 0.4
PAIR_BONUS = 0.12
MAX_PAIR_DISTANCE = 3  # words
KIND_BONUS = 0.15
PASSAGE_SHARE = 0.5
SAID_FACTOR = 0.5  # of a sentence of the answer before, for a follow-up
OTHER_KIND_FACTOR = 0.5  # of a sentence without what a follow-up asks for, if that is all that it says
FRAGMENT_FACTOR = 0.7  # "Run this:", "Where is it?" and "Google." say little without their context
INTRODUCTION_FACTOR = 0.85  # with its list, an introduction says more, but one of its items may be all that was asked
# A heading with this share of the question's weight asks the same, and what stands right below it is the answer.
MIN_HEADING_SHARE, OPENING_BONUS = 0.9, 0.1
MAX_FEW_WORDS, MISSING_WORD_SHARE = 2, 0.85
NO_STATEMENT = (":", "：", "?", "？", "؟")
MIN_SENTENCE_WORDS = 3
# Two sentences say the same when the longer one has at least this share of the shorter one's words.
MIN_SAME_SHARE = 0.8
MIN_DERIVED = 4  # letters of a word that others derive from
PARTICIPLE_PREFIX = "ge"  # of German: "gründete", "gegründet"
# Long sentences match more words by chance: a match counts less in a sentence of more than these words.
LONG_SENTENCE_WORDS = 40


@dataclass(frozen=True, slots=True)
class Text:
    """A passage to score. `prior` is the score of the search, 0 to 1; `context` is its title and keywords.

    `stored` marks a stored web answer, as opposed to a passage of the knowledge base.
    """

    id: str
    content: str
    prior: float
    context: str = ""
    stored: bool = False


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """The sentence at `position` of the passage `text_id`. `score` orders sentences; it may exceed 1.

    `parts` is the list or table that the sentence introduces. `is_code`: the sentence ends with a block of code.
    """

    text_id: str
    position: int
    text: str
    score: float
    parts: str = ""
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A passage with its sentences in order.

    `coverage` is its weighted share of the question's words (0 to 1), `matches` are the stems of those it has.
    """

    id: str
    prior: float
    stored: bool
    coverage: float
    sentences: tuple[ScoredSentence, ...]
    matches: frozenset[str] = frozenset()

    @property
    def best(self) -> float:
        """The score of the best sentence, 0 when there is none."""
        return max((sentence.score for sentence in self.sentences), default=0.0)


# The address behind the words of a link: readers do not see it.
_TARGET = re.compile(r"\]\((?:[^()\s]|\([^()\s]*\))+(?:\s+\"[^\"]*\")?\)")


@lru_cache(maxsize=4096)
def stem_sequence(text: str) -> tuple[str, ...]:
    """The stems of all words of `text` that readers see, in order."""
    return tuple(stem(word) for word in words(_TARGET.sub("]", text)))


@lru_cache(maxsize=1024)
def _sentences(content: str) -> tuple[Sentence, ...]:
    return tuple(split_passage(content))


def score_texts(question: Question, texts: Sequence[Text]) -> list[ScoredText]:
    """Score every passage, in the given order."""
    weights = _rarity_weights(question, texts)
    return [_score_text(question, weights, text) for text in texts]


def missing_share(question: Question, texts: Sequence[Text]) -> float:
    """The share of the question's weight that the texts say nothing about, as far as words can tell.

    A name that stands in none of the texts nor above them counts in full. Another word may stand there in other words,
    so it counts only in a question of few words, and a little less.
    """
    total = sum(question.weights.values())
    if not total:
        return 0.0
    present = frozenset(key for text in texts for key in _aligned(f"{text.context} {text.content}", question))
    missing = {key for key in question.weights.keys() - present if not _is_derived_from(key, present)}
    names = sum(question.weights[key] for key in missing & question.names) / total
    if len(question.weights) > MAX_FEW_WORDS:
        return names
    return max(names, MISSING_WORD_SHARE * sum(question.weights[key] for key in missing) / total)


def _is_derived_from(key: str, present: frozenset[str]) -> bool:
    """Whether a word of the texts continues `key`: who drives the tram is its driver."""
    return len(key) >= MIN_DERIVED and any(word.startswith(key) for word in present)


def distinct(sentences: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """Drop the sentences that repeat an earlier one, judged by their words."""
    selection: list[ScoredSentence] = []
    selected_stems: list[set[str]] = []
    for sentence in sentences:
        stems = set(stem_sequence(sentence.text))
        if any(len(stems & other) >= MIN_SAME_SHARE * min(len(stems), len(other)) for other in selected_stems):
            continue
        selection.append(sentence)
        selected_stems.append(stems)
    return selection


def _rarity_weights(question: Question, texts: Sequence[Text]) -> dict[str, float]:
    """The question's weights, each multiplied by the rarity of its word among the sentences of `texts`."""
    stems = [set(_aligned(sentence.text, question)) for text in texts for sentence in _sentences(text.content)]
    total = len(stems)
    weights = {}
    for key, weight in _weights_among(stems, question).items():
        matches = sum(key in sentence for sentence in stems)
        weights[key] = weight * math.log(2.0 + (total - matches) / (matches + 1.0))
    return weights


def _weights_among(sentences: Sequence[set[str]], question: Question) -> Mapping[str, float]:
    """The question's weights, where the measure that it asks for outweighs the earlier turns if a sentence names it."""
    named = frozenset().union(*sentences) & question.measures
    if not named:
        return question.weights
    earlier = sum(weight for key, weight in question.weights.items() if key not in named) or 1.0
    share = MAX_EARLIER_SHARE * len(named) / earlier
    return {key: 1.0 if key in named else share * weight for key, weight in question.weights.items()}


def _score_text(question: Question, weights: Mapping[str, float], text: Text) -> ScoredText:
    total_weight = sum(weights.values()) or 1.0
    sentences = _sentences(text.content)
    context = set(_aligned(text.context, question))
    is_answered = sum(weight for key, weight in weights.items() if key in context) >= MIN_HEADING_SHARE * total_weight
    passage_stems = context.union(*(_aligned(part, question) for s in sentences for part in (s.text, s.heading)))
    scored_sentences = []
    previous: set[str] = set()
    for position, sentence in enumerate(sentences):
        sequence = _aligned(sentence.text, question)
        own = set(sequence)
        nearby = (previous | context | set(_aligned(sentence.heading, question))) - own
        own_share = sum(weight for key, weight in weights.items() if key in own) / total_weight
        nearby_share = sum(weight for key, weight in weights.items() if key in nearby) / total_weight
        match = (own_share + CONTEXT_SHARE * nearby_share) * _length_factor(len(sequence))
        opens_answer = is_answered and not position
        if opens_answer:
            match += OPENING_BONUS
        elif sentence.parts:
            match *= INTRODUCTION_FACTOR
        elif sentence.text.endswith(NO_STATEMENT) or len(sequence) < MIN_SENTENCE_WORDS:
            match *= FRAGMENT_FACTOR
        bonus = PAIR_BONUS * _pair_share(question.order, sequence)
        is_kind = fits(question.kind, sentence.text)
        bonus += KIND_BONUS * own_share if is_kind else 0.0
        said = SAID_FACTOR if question.said and sentence.text in question.said else 1.0
        kind = 1.0 if is_kind or not question.needs_kind else OTHER_KIND_FACTOR
        score = said * kind * (match + bonus) + PASSAGE_SHARE * text.prior
        scored_sentences.append(
            ScoredSentence(text.id, position, sentence.text, score, sentence.parts, sentence.is_code)
        )
        previous = own
    matches = passage_stems & weights.keys()
    coverage = sum(weights[key] for key in matches) / total_weight
    return ScoredText(text.id, text.prior, text.stored, coverage, tuple(scored_sentences), frozenset(matches))


def _aligned(text: str, question: Question) -> tuple[str, ...]:
    """The stems of all words of `text`, in order; an inflection of a word of the question has the stem it has there."""
    stems = stem_sequence(text)
    if not question.beginnings:
        return stems
    return tuple(stem if stem in question.weights else _find_inflection(stem, question) for stem in stems)


def _find_inflection(stem: str, question: Question) -> str:
    without_prefix = stem.removeprefix(PARTICIPLE_PREFIX)
    starts = question.beginnings.items()
    return next((own for own, start in starts if stem.startswith(start) or without_prefix.startswith(start)), stem)


def _length_factor(length: int) -> float:
    return min(1.0, math.pow(LONG_SENTENCE_WORDS / max(length, 1), 0.3))


def _pair_share(order: Sequence[str], sequence: Sequence[str]) -> float:
    """The share of the question's neighbouring words that are close to each other in the sentence."""
    pairs = [(a, b) for a, b in pairwise(order) if a != b]
    if not pairs:
        return 0.0
    places: dict[str, list[int]] = {}
    for place, key in enumerate(sequence):
        places.setdefault(key, []).append(place)
    close = sum(
        any(abs(i - j) <= MAX_PAIR_DISTANCE for i in places.get(a, ()) for j in places.get(b, ())) for a, b in pairs
    )
    return close / len(pairs)
