"""Keeps the instructions of the model out of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

RUN = 12  # words; shorter runs occur by chance
TAKEN_OUT = "[…]"

_WORD = re.compile(r"[^\W_]+")

Runs = frozenset[tuple[str, ...]]


def runs(texts: Iterable[str]) -> Runs:
    """Every run of RUN words in any of `texts`, without case and punctuation."""
    return frozenset(run for text in texts for run, _ in _runs(text))


def without_runs(answer: str, secret: Runs, quotable: Iterable[str]) -> str:
    """`answer` with every run of RUN words and more that is `secret` taken out.

    What stands in a text that is `quotable` is no secret: a knowledge base may well hold the instructions.
    """
    found = [(run, place) for run, place in _runs(answer) if run in secret]
    if not found:
        return answer
    known = runs(quotable)
    parts: list[str] = []
    end = 0
    for start, stop in _merged(place for run, place in found if run not in known):
        parts += [answer[end:start], TAKEN_OUT]
        end = stop
    return "".join((*parts, answer[end:]))


def _runs(text: str) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """The runs of `text` in order, each with its place."""
    found = list(_WORD.finditer(text))
    words = [word[0].casefold() for word in found]
    for first in range(len(words) - RUN + 1):
        yield tuple(words[first : first + RUN]), (found[first].start(), found[first + RUN - 1].end())


def _merged(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places that overlap made one; they come in order."""
    merged: list[tuple[int, int]] = []
    for start, stop in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
