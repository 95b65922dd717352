"""Finds the language of a text by its script and its function words, and that of a short question by its letters."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from gleaner import text
from gleaner.knowledge._word_tables import read_tables

_MIN_LANGUAGE_WORDS = 2
_MAX_TEXT = 4_000  # characters that are read
_SCRIPTS = {
    "latin": re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "arabic": re.compile("[\u0600-\u06ff]"),
    "hebrew": re.compile("[\u05d0-\u05ea]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
    "kana": re.compile("[\u3040-\u30ff]"),
    "hangul": re.compile("[\uac00-\ud7a3]"),
    "han": re.compile("[\u3400-\u9fff]"),
}
# Letters that tell the language of a question without function words, which are too few to count.
_LETTERS = {
    "spanish": re.compile("[¿¡]"),
    "turkish": re.compile("[ğışĞİŞ].*[ğışĞİŞ]|\\b(?:hangi|nasıl|nedir|nerede|kaç|için)\\b"),
    "vietnamese": re.compile("[ơưđĂăạ-ỹ].*[ơưđăạ-ỹ]", re.IGNORECASE),
}


def find_question_language(question: str) -> str | None:
    """Return the language of a question, which may have too few function words; None if nothing tells it.

    Between the long name of a thing in Latin letters, a few words in another script tell.
    """
    return (
        find_language(question)
        or _find_asking_language(question)
        or next((name for name in _LETTERS if _LETTERS[name].search(question)), None)
        or _find_script(re.sub(_SCRIPTS["latin"], "", question))
    )


def _find_asking_language(question: str) -> str | None:
    """The language with most of the words that ask, which count double, and of the function words."""
    spoken = text.find_words(question)
    # A word with a capital is a name, unless it is the first.
    plain = [text.fold(word) if word == word.lower() else "" for word in spoken[1:]]
    words = [*map(text.fold, spoken[:1]), *plain]
    asking = Counter(mark.label for mark in read_tables().asking.find(words, None))
    if not asking:
        return None
    hits = {name: 2 * asking[name] + len(listed & set(words)) for name, listed in read_tables().languages.items()}
    best, next_best = sorted(hits, key=lambda name: -hits[name])[:2]
    return best if hits[best] > hits[next_best] else None


@lru_cache(maxsize=256)
def find_language(passage: str) -> str | None:
    """Return the language of a text by its script and its function words; None if these do not tell."""
    script = _find_script(passage)
    if script != "latin":
        return script
    words = set(text.find_words(text.fold(passage[:_MAX_TEXT])))
    hits = Counter({name: len(words & listed) for name, listed in read_tables().languages.items()})
    (best, count), (_, next_count) = hits.most_common(2)
    return best if count >= _MIN_LANGUAGE_WORDS and count > next_count else None


def _find_script(passage: str) -> str | None:
    counts = Counter({name: len(pattern.findall(passage[:_MAX_TEXT])) for name, pattern in _SCRIPTS.items()})
    if counts["kana"] and counts["han"]:  # Japanese is written in both
        counts["kana"] += counts.pop("han")
    # A character of a script without alphabet is worth a word of others.
    for name in ("han", "kana", "hangul"):
        counts[name] *= 3
    name, count = counts.most_common(1)[0]
    return name if count else None
