"""Recognizes keywords that name no topic: numbers and years, and words that too many answers have in common."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from gleaner import text

_NUMBER_ONLY = "a number or a year alone: name what it counts or dates"
_TOO_GENERIC = "too generic: name the product, concept or task"
# The endings of English adverbs and adjectives, and words that end so and are names of things.
_DESCRIBING = re.compile(r"[a-z]{2,}(?:fully|sly|vely|bly|ntly|ingly|edly|ally|ily|ful|eous|ious|uous|itive|able|ible)")
_NAMES = frozenset(
    "additive ally anomaly assembly automotive bible butterfly cable collectible constable consumable crucible "
    "derivative family genitive handful homily immutable italy lily locative mouthful mutable ontology primitive "
    "rally sensitive sicily syllable tally timetable turntable variable vegetable wearable excel naming teams "
    "windows".split()
)
_GRAMMAR = frozenset(
    "a all an and any by for how in its more most my of on or our some that the their this to with your".split()
)


@cache
def _read_stems() -> tuple[frozenset[str], frozenset[str]]:
    """The stems of vague words, and of vague and broad ones."""
    source = (files("gleaner.knowledge") / "common_words.txt").read_text(encoding="utf-8")
    sections = [part.split("\n", 1) for part in re.split(r"(?m)^>\s*", re.sub("(?m)^#.*$", "", source))[1:]]
    stems = {"vague": set[str](), "broad": set[str]()}
    for heading, listed in sections:
        stems[heading.split()[0]].update(text.stem(word) for word in text.words(listed))
    return frozenset(stems["vague"]), frozenset(stems["vague"] | stems["broad"])


def find_problem(keyword: str) -> str | None:
    """Why a keyword is too generic, or None. Capitals count: "SELECT" is a name, "select" is not."""
    all_words = text.words(keyword)
    if all_words and all(word.isnumeric() for word in all_words):
        return _NUMBER_ONLY
    words = [term for term in text.terms(keyword) if not term.isnumeric()]
    if not words:
        return _TOO_GENERIC
    vague, common = _read_stems()
    stems = {text.stem(term) for term in words}
    if not stems <= common and not (len(words) == 1 and _DESCRIBING.fullmatch(keyword)):
        return None
    if _NAMES.issuperset(words) or (keyword.isascii() and keyword.isupper()):
        return None
    # A number makes no topic of a common word, nor does an article: "March 2024", "version 3", "the company". Other
    # stop words may: "open source".
    others = [word for word in all_words if word not in words and not word.isnumeric()]
    is_single = " " not in keyword or (len(words) == 1 and _GRAMMAR.issuperset(others))
    return _TOO_GENERIC if is_single or not stems.isdisjoint(vague) else None
