"""Compares questions of a script whose words cannot be told apart by the letters that the other text has in a row."""

from __future__ import annotations

from collections.abc import Sequence

from gleaner import text
from gleaner.knowledge._word_tables import read_tables

_MIN_COMMON = 3  # characters in a row that are no chance
_MIN_PIECE = 3  # characters of a piece that only one text has; a shorter one is a part of a word
_MAX_ABSENT_SHARE = 0.5  # of the characters of a question that nothing stored has


def has_other_runs(asked: str, stored: str, answer: str, around: Sequence[str]) -> bool:
    """Whether a question is about something else than the stored one, by what only one of them has.

    That is so if the question only adds to the stored one, lacks what the answer speaks of, or has little in common.
    """
    runs = _cut(asked)
    absent = _find_uncovered(runs, text.fold("\n".join((stored, answer, *around))))
    if not absent:
        return False
    lost = _find_uncovered(_cut(stored), text.fold(asked))
    answered = text.fold(answer)
    return (
        not _find_uncovered(_cut(stored, keep_light=True), text.fold(asked))
        or any(piece in answered for piece in lost)
        or sum(map(len, absent)) > _MAX_ABSENT_SHARE * sum(map(len, runs))
    )


def _cut(question: str, *, keep_light: bool = False) -> list[str]:
    """What stands between the function words of a question, its question words and the words that seldom decide."""
    folded, tables = text.fold(question), read_tables()
    phrases = set(tables.kinds.unspaced) | (set() if keep_light else tables.light_phrases)
    for phrase in sorted(phrases, key=len, reverse=True):
        folded = folded.replace(phrase, " ")
    return [piece for word in text.find_words(folded) for piece in text.cut_phrases(word)]


def _find_uncovered(runs: Sequence[str], known: str) -> list[str]:
    """The pieces of runs that are in no common substring of at least `_MIN_COMMON` characters."""
    return [piece for run in runs for piece in _uncovered(run, known) if len(piece) >= _MIN_PIECE]


def _uncovered(run: str, known: str) -> list[str]:
    pieces, position = [""], 0
    while position < len(run):
        length = next((n for n in range(len(run) - position, 0, -1) if run[position : position + n] in known), 0)
        if length >= min(_MIN_COMMON, len(run)):
            position += length
            pieces.append("")
        else:
            pieces[-1] += run[position]
            position += 1
    return pieces
