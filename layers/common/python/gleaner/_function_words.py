"""Reads the words that ask, join or point and name no topic: own lists of twelve languages (function_words.txt)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_UNSPACED_LANGUAGES = ("Chinese", "Japanese", "Thai")


@dataclass(frozen=True, slots=True)
class Language:
    """The function words of a language, folded. Those in `ambiguous` are topics in English."""

    name: str
    words: frozenset[str]
    ambiguous: frozenset[str]


@cache
def read_languages() -> tuple[Language, ...]:
    """Read the lists of all languages; the format is described at the top of the file."""
    source = (files("gleaner") / "function_words.txt").read_text(encoding="utf-8")
    text = unicodedata.normalize("NFKC", re.sub("(?m)^#.*$", "", source).casefold())
    sections = [section.split("\n", 1) for section in re.split(r"(?m)^>\s*", text)[1:]]
    return tuple(_read_language(name, words) for name, words in sections)


@cache
def read_unspaced_words() -> frozenset[str]:
    """Read the function words of the languages whose texts are cut at them."""
    unspaced = [name.casefold() for name in _UNSPACED_LANGUAGES]
    return frozenset(word for language in read_languages() if language.name in unspaced for word in language.words)


def _read_language(name: str, words: str) -> Language:
    plain, _, ambiguous = words.partition("?")
    return Language(name.strip(), frozenset(plain.split()), frozenset(ambiguous.split()))
