"""Scores how close a stored web answer is to a query, on the same scale as the vector chunks."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from gleaner import text
from gleaner.knowledge._question_form import read_question
from gleaner.knowledge._word_forms import ENDINGS, is_variant
from gleaner.knowledge._word_tables import read_tables
from gleaner.model import WebAnswer
from gleaner.stores.keyword_lookup import UNKNOWN_WEIGHT

# The weight of a query's term by where the stored answer contains it. An answer's text mentions much that it is not
# about, and a keyword may be taken from that text. docs/decisions/0005-keyword-index.md says how these values were
# measured; neighbouring values give nearly the same figures.
_IN_QUESTION, _IN_KEYWORDS, _IN_TEXT = 1.0, 0.7, 0.35
_STORED_QUESTION_WEIGHT = 1 / 3  # its share in the geometric mean with the query's side
_MEANING_WEIGHT = 0.8
_MIN_LEXICAL_SHARE = 0.75  # of the closeness in words, which remains however low the similarity is
_LIGHT_SHARE = 0.3  # of the weight of a word that seldom decides
_MENTION_WEIGHT = 0.6  # the closeness of an answer to another question that mentions every term of the query


class QueryCloseness:
    """How close stored answers are to one query. What depends on the query alone is determined once."""

    def __init__(self, query: str, weights: Mapping[str, float]) -> None:
        """`weights` are the query's stems by rarity."""
        light = _find_light_stems(query)
        self._beginnings = text.beginnings(query)
        self._weights = {
            stem: weights.get(stem, UNKNOWN_WEIGHT) * (_LIGHT_SHARE if stem in light else 1.0)
            for stem in self._beginnings
        }
        self._starts: dict[str, list[tuple[str, str]]] = {}
        for stem, start in self._beginnings.items():
            if start != stem:
                self._starts.setdefault(start[: text.MIN_BEGINNING], []).append((start, stem))
        self._language = read_question(query).language
        self._known = {term: text.stem(term) for term in text.terms(query)}

    def to(self, answer: WebAnswer, keywords: Sequence[str]) -> float:
        """How close `answer`, found by `keywords`, is to the query: 0 to 1.

        The greater of two measures counts: the answer was fetched for a similar question, or it mentions what the
        query asks for. Similarity is a weighted geometric mean of how much of the query the answer is about, and how
        much of the stored question (or of its first page's title) the query repeats. So a long stored question that
        shares one word with the query is not similar. A keyword that the answer does not mention is no mention: it may
        have been chosen by a hostile page, and counts only where the query repeats the stored question, too.
        """
        if not self._weights:
            return 0.0
        titles = {answer.query, answer.question, answer.citations[0].title}
        questions = [self._align_forms(question, self._align(question)) for question in titles]
        places = dict.fromkeys(self._align(answer.answer), _IN_TEXT)
        known = set(places).union(*questions)
        by_mention: dict[bool, set[str]] = {True: set(), False: set()}
        for stems in map(self._align, keywords):
            by_mention[2 * len(stems & known) >= len(stems)].update(stems)
        places |= dict.fromkeys(by_mention[True], _IN_KEYWORDS)
        places |= dict.fromkeys(set.union(*questions), _IN_QUESTION)
        held = _query_share(self._weights, dict.fromkeys(places, 1.0))
        places = dict.fromkeys(by_mention[False], _IN_KEYWORDS) | places
        aboutness = _query_share(self._weights, places)
        overlap = max(_question_share(question, self._weights) for question in questions)
        similarity = math.pow(aboutness, 1 - _STORED_QUESTION_WEIGHT) * math.pow(overlap, _STORED_QUESTION_WEIGHT)
        return max(similarity, _MENTION_WEIGHT * held)

    def _align(self, source: str) -> set[str]:
        """The stems of `source`; one that begins as a stem of the query does counts as that stem."""
        stems = _stems(source)
        if not self._starts:
            return set(stems)
        aligned = set()
        for stem in stems:
            likely = self._starts.get(stem[: text.MIN_BEGINNING], ()) if stem not in self._beginnings else ()
            aligned.add(next((own for start, own in likely if stem.startswith(start)), stem))
        return aligned

    def _align_forms(self, question: str, aligned: set[str]) -> set[str]:
        """Put the stem of a query's word in the place of that of its form in a question, which no stemmer knows.

        English needs none; other languages form a word anew for its uses: "gereinigt", "reinigen".
        """
        if self._language in (None, "english"):
            return aligned
        forms = {
            text.stem(term): stem
            for term in text.terms(question)
            for own, stem in self._known.items()
            if text.stem(term) not in self._known.values() and is_variant(own, term, ENDINGS, self._language)
        }
        return {forms.get(stem, stem) for stem in aligned}


@lru_cache(maxsize=512)  # of stored answers, the same ones are found again and again
def _stems(source: str) -> tuple[str, ...]:
    return tuple(text.stems(source))


def _find_light_stems(query: str) -> frozenset[str]:
    """The stems of words that seldom decide, in other languages than English: there, rarity tells them."""
    if read_question(query).language in (None, "english"):
        return frozenset()
    return frozenset(text.stem(word) for word in text.terms(query) if word in read_tables().light_words)


def _query_share(query_weights: Mapping[str, float], places: Mapping[str, float]) -> float:
    """The weighted share of the query's stems that the answer contains, each multiplied by the weight of its place."""
    total = sum(query_weights.values())
    return sum(weight * places.get(stem, 0.0) for stem, weight in query_weights.items()) / total


def _question_share(question: Collection[str], query_weights: Mapping[str, float]) -> float:
    """The weighted share of a stored question's stems that the query contains."""
    total = sum(query_weights.get(stem, UNKNOWN_WEIGHT) for stem in question)
    return sum(query_weights[stem] for stem in question if stem in query_weights) / total if total else 0.0


def merge_scores(lexical: float, similarity: float | None) -> float:
    """One score of a stored answer from its closeness in words and in meaning, which is None if it is unknown.

    See docs/decisions/0025-stored-answers-by-meaning.md for the weights.
    """
    if similarity is None:
        return lexical
    # An index that knows a language by words only rates similar questions low.
    return max((1 - _MEANING_WEIGHT) * lexical + _MEANING_WEIGHT * similarity, _MIN_LEXICAL_SHARE * lexical)
