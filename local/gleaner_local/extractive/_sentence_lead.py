"""Measures how far the best sentence is ahead of those of other passages, as in a passage that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gleaner_local.extractive.scoring import ScoredText
from gleaner_local.index.embedder import Vectors

# Only the sentences with the best words are embedded: all of five passages tell no more, and take ten times as long.
MAX_PASSAGES, SENTENCES_PER_PASSAGE = 3, 2
# docs/decisions/0027-signals-of-an-answer.md says how these were measured.
BONUS_SHARE, USUAL_LEAD, MAX_LEAD = 0.7, 0.14, 0.2
MAX_BONUS = BONUS_SHARE * max(MAX_LEAD - USUAL_LEAD, USUAL_LEAD)
# Two sentences with a higher cosine say the same, so that neither is ahead of the other.
MIN_SAME_COSINE = 0.9


def sentence_lead_bonus(
    embed: Callable[[str], Vectors], query: str, ranked: Sequence[ScoredText], headings: Mapping[str, str]
) -> float:
    """By how much less evidence is needed for `ranked`, best first; negative if more is needed.

    Passages on the same subject resemble the question alike; one that answers it has a sentence that resembles it more.
    `embed` gives the unit vector of a text, and `headings` those that count as a sentence of their passage, by its id.
    """
    vector = embed(query)
    read = [text for text in ranked if text.sentences][:MAX_PASSAGES]
    best = (_closest(embed, vector, text, headings.get(text.id, "")) for text in read)
    first, *others = sorted(best, key=lambda other: -float(other @ vector)) or [vector]
    cosines = [float(other @ vector) for other in others if float(other @ first) < MIN_SAME_COSINE]
    if not cosines:
        return 0.0
    lead = float(first @ vector) - sum(cosines) / len(cosines)
    return BONUS_SHARE * (min(lead, MAX_LEAD) - USUAL_LEAD)


def _closest(embed: Callable[[str], Vectors], vector: Vectors, text: ScoredText, heading: str) -> Vectors:
    """The vector of the sentence or heading of a passage that is closest to `vector`."""
    sentences = sorted(text.sentences, key=lambda sentence: -sentence.score)[:SENTENCES_PER_PASSAGE]
    texts = [sentence.text for sentence in sentences] + ([heading] if heading else [])
    vectors = np.stack([embed(part) for part in texts])
    closest: Vectors = vectors[int(np.argmax(vectors @ vector))]
    return closest
