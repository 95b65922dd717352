"""Keeps the model's instructions out of answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache

from gleaner.prompts import read_all_prompts

RUN_WORDS = 12  # shorter runs occur by chance
PLACEHOLDER = "[…]"

_WORD = re.compile(r"[^\W_]+")

Runs = frozenset[tuple[str, ...]]


def collect_runs(texts: Iterable[str]) -> Runs:
    """Collect every run of RUN_WORDS words in `texts`, ignoring case and punctuation."""
    return frozenset(run for text in texts for run, _ in _iterate_runs(text))


@cache
def collect_prompt_runs() -> Runs:
    """Collect the runs of all prompts, once per process."""
    return collect_runs(read_all_prompts())


def remove_runs(answer: str, secret: Runs, quotable: Iterable[str]) -> str:
    """Remove all `secret` runs of RUN_WORDS or more words from `answer`.

    Runs in `quotable` texts are not secret: a knowledge base may well contain the instructions.
    """
    hits = [(run, span) for run, span in _iterate_runs(answer, _collect_words(secret)) if run in secret]
    if not hits:
        return answer
    quotable_runs = collect_runs(quotable)
    parts: list[str] = []
    end = 0
    for start, stop in _merge_overlapping(span for run, span in hits if run not in quotable_runs):
        parts += [answer[end:start], PLACEHOLDER]
        end = stop
    return "".join((*parts, answer[end:]))


@lru_cache(maxsize=4)  # the prompts are collected once per process
def _collect_words(runs: Runs) -> frozenset[str]:
    return frozenset(word for run in runs for word in run)


def _iterate_runs(text: str, among: Collection[str] | None = None) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Yield the runs of `text` in order, each with its span; with `among`, only runs of these words."""
    matches = list(_WORD.finditer(text))
    words = [match[0].casefold() for match in matches]
    length = 0
    for last, word in enumerate(words):
        length = length + 1 if among is None or word in among else 0
        if length >= RUN_WORDS:
            first = last - RUN_WORDS + 1
            yield tuple(words[first : last + 1]), (matches[first].start(), matches[last].end())


def _merge_overlapping(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping spans, which must be in order."""
    merged: list[tuple[int, int]] = []
    for start, stop in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
