"""Reads the words that show in each language that a question leans on the turns before it (words/follow_up.txt)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gleaner.text import fold, function_words
from gleaner_local.extractive._word_lists import read_words

# Not letters, digits or the marks that belong to them.
_SEPARATOR = re.compile(r"[^\w\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u0dff\u0e00-\u0e7f]+")
# The scripts of one language each, or of languages that one list serves, in the order of looking.
_SCRIPTS = (
    ("Japanese", re.compile("[\u3041-\u30ff]")),
    ("Chinese", re.compile("[\u3400-\u9fff]")),
    ("Korean", re.compile("[\uac00-\ud7a3]")),
    ("Thai", re.compile("[\u0e00-\u0e7f]")),
    ("Ukrainian", re.compile("[іїєґ]")),
    ("Russian", re.compile("[\u0400-\u04ff]")),
    ("Arabic", re.compile("[\u0600-\u06ff]")),
    ("Hebrew", re.compile("[\u05d0-\u05ea]")),
    ("Hindi", re.compile("[\u0900-\u097f]")),
)
_UNSPACED = ("Chinese", "Japanese", "Thai")


@dataclass(frozen=True, slots=True)
class Language:
    """The phrases of a language by their role, as tokens joined by spaces, the longest first."""

    name: str
    roles: dict[str, tuple[str, ...]]

    @property
    def is_spaced(self) -> bool:
        """Whether words are written with spaces between them."""
        return self.name not in _UNSPACED

    @property
    def drops_subjects(self) -> bool:
        """Whether a subject that is known is left out."""
        return "drops" in self.roles

    @property
    def function_words(self) -> frozenset[str]:
        """The single words that name no topic."""
        return frozenset(self.phrases("asks", "articles", "places", "joins", "function", "refers"))

    def phrases(self, *roles: str) -> tuple[str, ...]:
        """The phrases of these roles."""
        return tuple(phrase for role in roles for phrase in self.roles.get(role, ()))


def tokenize(text: str) -> list[str]:
    """The folded words of `text`; apostrophes and hyphens separate words."""
    return _SEPARATOR.sub(" ", fold(text)).split()


def find_language(text: str, before: str = "") -> Language:
    """The language of a question: by its script, or by its function words in the Latin script.

    Where these leave a choice, as in a short text, it is the language of the text `before`.
    """
    folded = fold(text)
    languages = _read()
    for name, script in _SCRIPTS:
        if script.search(folded):
            return languages[name]
    tokens = set(tokenize(text))
    vocabularies = _vocabularies()
    counts = {name: len(tokens & vocabulary) for name, vocabulary in vocabularies.items()}
    best = [name for name in vocabularies if counts[name] == max(counts.values())]  # English is the first
    former = find_language(before).name if before and len(best) > 1 else ""
    return languages[former if former in best else best[0]]


@cache
def _read() -> dict[str, Language]:
    source = (files(__package__ or "") / "words" / "follow_up.txt").read_text(encoding="utf-8")
    sections = re.split(r"(?m)^>\s*", re.sub("(?m)^#.*$", "", source))[1:]
    return {language.name: language for language in map(_read_language, sections)}


def _read_language(section: str) -> Language:
    name, *lines = section.strip().splitlines()
    roles = {}
    for line in filter(None, lines):
        role, _, phrases = line.partition(":")
        roles[role] = _in_order(phrases.split(","))
    return Language(name.strip(), roles)


def _in_order(phrases: Iterable[str]) -> tuple[str, ...]:
    tokens = {" ".join(tokenize(phrase)) for phrase in phrases}
    return tuple(sorted(filter(None, tokens), key=lambda phrase: (-len(phrase), phrase)))


@cache
def _vocabularies() -> dict[str, frozenset[str]]:
    """The function words of the languages in the Latin script, English first."""
    listed = function_words()
    scripts = {name for name, _ in _SCRIPTS}
    vocabularies = {}
    for name, language in _read().items():
        if name not in scripts:
            phrases = (phrase for role in language.roles.values() for phrase in role)
            vocabularies[name] = frozenset(listed.get(name.casefold(), ())).union(*(p.split() for p in phrases))
    vocabularies["English"] |= read_words("grammar")
    return vocabularies
