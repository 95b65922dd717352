"""Measures how closely the best passages say each word of a question, and how far the best of them is ahead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gleaner.text import stem, words
from gleaner_local.index.embedder import TokenVectors, Vectors

# More passages tell no more, and each takes as long to read as the question takes to be searched.
MAX_PASSAGES = 2
# docs/decisions/0027-signals-of-an-answer.md says how these were measured.
CLOSENESS_SHARE, USUAL_CLOSENESS = 1.5, 0.58
LEAD_SHARE, USUAL_LEAD = 0.7, 0.05
MAX_BONUS = 0.1
# Two passages with a higher cosine say the same, so that neither is ahead of the other.
MIN_SAME_COSINE = 0.9


@dataclass(frozen=True, slots=True)
class Alignment:
    """How closely each passage says what the question says, 0 to 1 by its id, and by how much less evidence is needed.

    `bonus` is negative if more evidence is needed, and at most `MAX_BONUS` either way. It is 0 if there is no other
    passage to compare the best one with, or the other says the same.
    """

    closeness: Mapping[str, float]
    bonus: float


def align(
    read: Callable[[str], TokenVectors], query: str, weights: Mapping[str, float], passages: Mapping[str, str]
) -> Alignment:
    """Compare each token of `query` with the closest one of each passage (text by id), best first.

    `read` gives the tokens of a text, whose vectors depend on the words around them: "mended" is close to "repaired"
    where both are said of an organ. This is the MaxSim of ColBERT (Khattab and Zaharia 2020) with an embedder that was
    not trained for it. `weights` are by stem; words that carry no weight count for closeness, but not for the lead:
    passages on the same subject differ in the words that tell them apart.
    """
    asked = read(query)
    token_weights = _token_weights(query, asked, weights)
    texts = {passage_id: read(text).vectors for passage_id, text in list(passages.items())[:MAX_PASSAGES]}
    if not all(map(len, (asked.vectors, *texts.values()))):  # characters that the embedder does not read
        return Alignment({}, 0.0)
    best = {passage_id: (asked.vectors @ vectors.T).max(axis=1) for passage_id, vectors in texts.items()}
    closeness = {passage_id: float(cosines.mean()) for passage_id, cosines in best.items()}
    if len(best) < MAX_PASSAGES or _say_the_same(*texts.values()):
        return Alignment(closeness, 0.0)
    second, first = sorted(float(cosines @ token_weights) for cosines in best.values())
    bonus = CLOSENESS_SHARE * (max(closeness.values()) - USUAL_CLOSENESS) + LEAD_SHARE * (first - second - USUAL_LEAD)
    return Alignment(closeness, max(-MAX_BONUS, min(MAX_BONUS, bonus)))


def _token_weights(query: str, asked: TokenVectors, weights: Mapping[str, float]) -> Vectors:
    """The share of each token in the question: of its word's weight, or the same for all if no word has one."""
    spans = [_word_around(query, *span) for span in asked.spans]
    shares = [sum(weights.get(stem(word), 0.0) for word in words(query[slice(*span)])) for span in spans]
    split = np.array([share / spans.count(span) for share, span in zip(shares, spans, strict=True)], dtype=np.float32)
    result: Vectors = split / split.sum() if split.any() else np.full_like(split, 1 / max(1, len(split)))
    return result


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end


def _say_the_same(one: Vectors, other: Vectors) -> bool:
    means = [vectors.mean(axis=0) for vectors in (one, other)]
    first, second = (mean / np.linalg.norm(mean) for mean in means)
    return float(first @ second) >= MIN_SAME_COSINE
