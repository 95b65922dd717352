"""Finds look-up entries that earlier versions wrote, which split words at marks and took a Chinese sentence as a word.

Pruning runs move such keywords into posting lists; until then they are found so. Questions whose words were always
split in this way, such as English ones, look up nothing more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gleaner import text
from gleaner.stores.schema import PREFIX_LENGTH

MAX_FORMER_STEMS = 12


@dataclass(frozen=True, slots=True)
class FormerMatch:
    """The share of an entry's stem that the query contains, and the query's stems in it, with weights from 0 to 1."""

    share: float
    weights: Mapping[str, float]


def former_lookups(query: str, stems: Collection[str]) -> dict[str, dict[str, float]]:
    """What to look up besides `stems`, each with the query's stems that an equal entry stands for, weighted.

    These are the stems by the former rules, and in scripts without spaces, and in Korean, all runs of three characters:
    the beginnings of the keywords that may stand anywhere in the query.
    """
    lookups: dict[str, dict[str, float]] = {}
    for word in text.find_words(text.fold(query)):
        pieces = text.former_stems(word)
        present = [stem for stem in text.stems(word) if stem in stems]
        for piece in pieces:
            weights = lookups.setdefault(piece, {})
            weights.update((stem, max(1 / len(pieces), weights.get(stem, 0.0))) for stem in present)
    for run in _runs(query):
        lookups.setdefault(run, {})
    return {piece: lookups[piece] for piece in [*lookups] if piece not in stems}


def match_former(entry_stem: str, looked_up: str, weights: Mapping[str, float], stems: Collection[str]) -> FormerMatch:
    """Compare an entry's stem with a query that found it by `looked_up`."""
    entry_stems = text.stems(entry_stem)
    common = {stem: 1.0 for stem in entry_stems if stem in stems}
    if entry_stem == looked_up:
        return FormerMatch(1.0, common or weights)
    return FormerMatch(len(common) / max(1, len(entry_stems)), common)


def _runs(query: str) -> Iterator[str]:
    for word in text.find_words(text.fold(query)):
        for piece in text.cut_phrases(word):
            if text.words(piece) != [piece]:
                yield from (piece[i : i + PREFIX_LENGTH] for i in range(len(piece) - PREFIX_LENGTH + 1))
