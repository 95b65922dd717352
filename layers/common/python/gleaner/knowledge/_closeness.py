"""How close a stored web answer is to a query, on the scale of the vector chunks' scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from gleaner import text
from gleaner.model import WebAnswer
from gleaner.stores.keyword_lookup import UNKNOWN_WEIGHT

# How much a term of the query counts by where the stored answer holds it. The answer's text mentions much that
# it is not about, and a keyword may come from there. What these were measured on is in
# docs/decisions/0005-keyword-index.md; neighbouring values give nearly the same figures.
_IN_QUESTION, _IN_KEYWORDS, _IN_TEXT = 1.0, 0.7, 0.35
_STORED_SIDE = 1 / 3  # of the mean of the query's side and the stored question's
_HELD = 0.6  # the closeness of an answer to another question that mentions every term of the query


def closeness(query: str, answer: WebAnswer, keywords: Sequence[str], weights: Mapping[str, float]) -> float:
    """How close `answer`, found by `keywords`, is to `query`: 0 to 1.

    Two things make it close, and the greater one counts: that it was fetched for a question like this one, or
    that it mentions what is asked, though fetched for something else. "Like this one" is a weighted geometric
    mean of how much of the query the answer is about, and how much of the stored question (or of the title of
    its first page) the query repeats: a long stored question that shares one word with the query is not like
    it. `weights` are those of the query's stems by rarity (`KeywordLookup.look_up`).
    """
    asked = {stem: weights.get(stem, UNKNOWN_WEIGHT) for stem in text.stems(query)}
    if not asked:
        return 0.0
    questions = [set(text.stems(answer.query)), set(text.stems(answer.citations[0].title))]
    places = dict.fromkeys(text.stems(answer.answer), _IN_TEXT)
    places |= dict.fromkeys(text.stems(" ".join(keywords)), _IN_KEYWORDS)
    places |= dict.fromkeys(set.union(*questions), _IN_QUESTION)
    about = _share(asked, places)
    repeated = max(_repeated(question, asked) for question in questions)
    held = _share(asked, dict.fromkeys(places, 1.0))
    return max(math.pow(about, 1 - _STORED_SIDE) * math.pow(repeated, _STORED_SIDE), _HELD * held)


def _share(asked: Mapping[str, float], places: Mapping[str, float]) -> float:
    """The weighted share of the query's stems that are found, each as much as its place counts."""
    return sum(weight * places.get(stem, 0.0) for stem, weight in asked.items()) / sum(asked.values())


def _repeated(question: Collection[str], asked: Mapping[str, float]) -> float:
    """The weighted share of a stored question's stems that the query holds."""
    total = sum(asked.get(stem, UNKNOWN_WEIGHT) for stem in question)
    return sum(asked[stem] for stem in question if stem in asked) / total if total else 0.0
