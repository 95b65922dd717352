"""Keeps the model's instructions out of answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

RUN_WORDS = 12  # shorter runs occur by chance
PLACEHOLDER = "[…]"

_WORD = re.compile(r"[^\W_]+")

Runs = frozenset[tuple[str, ...]]


def collect_runs(texts: Iterable[str]) -> Runs:
    """Collect every run of RUN_WORDS words in `texts`, ignoring case and punctuation."""
    return frozenset(run for text in texts for run, _ in _iterate_runs(text))


def remove_runs(answer: str, secret: Runs, quotable: Iterable[str]) -> str:
    """Remove all `secret` runs of RUN_WORDS or more words from `answer`.

    Runs in `quotable` texts are not secret: a knowledge base may well contain the instructions.
    """
    hits = [(run, span) for run, span in _iterate_runs(answer) if run in secret]
    if not hits:
        return answer
    quotable_runs = collect_runs(quotable)
    parts: list[str] = []
    end = 0
    for start, stop in _merge_overlapping(span for run, span in hits if run not in quotable_runs):
        parts += [answer[end:start], PLACEHOLDER]
        end = stop
    return "".join((*parts, answer[end:]))


def _iterate_runs(text: str) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Yield the runs of `text` in order, each with its span."""
    matches = list(_WORD.finditer(text))
    words = [match[0].casefold() for match in matches]
    for first in range(len(words) - RUN_WORDS + 1):
        span = matches[first].start(), matches[first + RUN_WORDS - 1].end()
        yield tuple(words[first : first + RUN_WORDS]), span


def _merge_overlapping(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping spans, which must be in order."""
    merged: list[tuple[int, int]] = []
    for start, stop in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
