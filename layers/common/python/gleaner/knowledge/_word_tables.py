"""Reads question_words.txt: the words that decide what a question asks for, and where they stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from gleaner import text

# Scripts in which words are not separated, or carry particles: phrases are looked for within words.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_ENGLISH = "english"


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of a table in a text: its entry, the positions of its words, and whether it counts on its own."""

    label: str
    phrase: str
    start: int
    end: int
    is_weak: bool = False


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of a table. A weak phrase is often left out."""

    spaced: dict[tuple[str, ...], list[tuple[str, bool]]] = field(default_factory=dict)
    unspaced: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)  # of the longest phrase of several words, by its first
    beginnings: dict[int, set[str]] = field(default_factory=dict)  # that phrases end with; the longest ones first

    def add(self, written: str, label: str) -> None:
        """Add a phrase under a label."""
        phrase = text.fold(written).removeprefix("~").strip()
        entry = (label, written.strip().startswith("~"))
        if UNSPACED.search(phrase):
            self.unspaced.setdefault(phrase, []).append(entry)
        elif phrase:
            words = tuple(text.find_words(phrase))
            key = words
            if phrase.endswith("*"):
                key = (*words[:-1], f"{words[-1]}*")
                self._add_beginning(words[-1])
            self.spaced.setdefault(key, []).append(entry)
            self.lengths[words[0]] = max(len(words), self.lengths.get(words[0], 1))

    def _add_beginning(self, beginning: str) -> None:
        if len(beginning) not in self.beginnings:
            longest_first = sorted([*self.beginnings.items(), (len(beginning), set[str]())], reverse=True)
            self.beginnings.clear()
            self.beginnings.update(longest_first)
        self.beginnings[len(beginning)].add(beginning)

    def find(self, words: list[str], language: str | None) -> list[Mark]:
        """Return the phrases in folded words, the longest at each position; they do not overlap."""
        marks: list[Mark] = []
        position = 0
        while position < len(words):
            here = self._find_at(words, position, language)
            marks += here
            position = here[0].end if here else position + 1
        return [*marks, *self._find_unspaced(words)]

    def _find_at(self, words: list[str], start: int, language: str | None) -> list[Mark]:
        """The longest phrase that begins here, under each of its labels."""
        for end in range(min(len(words), start + self.lengths.get(words[start], 1)), start, -1):
            for key in self._keys(tuple(words[start:end])):
                phrase = " ".join(key)
                if not is_foreign(phrase, language):
                    return [Mark(label, phrase, start, end, weak) for label, weak in self.spaced[key]]
        return []

    def _find_unspaced(self, words: list[str]) -> Iterator[Mark]:
        joined = " ".join(words)
        if not UNSPACED.search(joined):
            return
        for phrase in sorted((phrase for phrase in self.unspaced if phrase in joined), key=len, reverse=True):
            if phrase in joined:
                joined = joined.replace(phrase, "\x00" * len(phrase))
                yield from (Mark(label, phrase, -1, -1, weak) for label, weak in self.unspaced[phrase])

    def labels(self, word: str) -> frozenset[str]:
        """Return the entries that a single word stands in."""
        return frozenset(label for key in self._keys((word,)) for label, _ in self.spaced[key])

    def _keys(self, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The keys of the phrases that `words` are: as they stand, and by the beginning of the last one."""
        first, last = words[:-1], words[-1]
        ends = [last, *(f"{last[:length]}*" for length, known in self.beginnings.items() if last[:length] in known)]
        return [key for end in ends if (key := (*first, end)) in self.spaced]


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of the file."""

    kinds: Phrases
    opposites: Phrases
    negations: Phrases
    excluding: Phrases
    excluding_before: Phrases
    no_negations: Phrases
    synonyms: Phrases
    numbers: Phrases
    hours: Phrases
    periods: Phrases  # days, weeks, months, years
    no_answers: Phrases
    dates: Phrases
    light_words: frozenset[str]
    light_phrases: frozenset[str]  # of scripts without spaces
    fillers: dict[str, frozenset[str]]  # by language
    languages: dict[str, frozenset[str]]
    asking: Phrases  # by language
    question_words: frozenset[str]
    which: frozenset[str]
    directions: dict[str, frozenset[str]]  # the words of "from", "to", "in either order", "passive"


@cache
def read_tables() -> Tables:
    """Read the file once per process."""
    sections = _read_sections()
    opposites = Phrases()
    for number, line in enumerate(sections["opposites"]):
        for side, phrases in zip("+-", line.split(" | "), strict=True):
            _add_all(opposites, phrases, f"{number}{side}")
    periods = Phrases()
    for name in ("days", "weeks", "months", "years"):
        _add_lines(periods, sections[name], name)
    light = frozenset[str]().union(*(_folded(line, ",") for line in sections["light words"]))
    return Tables(
        kinds=_labelled(sections["kinds"]),
        opposites=opposites,
        negations=_lines(sections["negations"]),
        excluding=_lines(sections["excluding"]),
        excluding_before=_lines(sections["excluding before"]),
        no_negations=_lines(sections["no negations"]),
        synonyms=_numbered(sections["synonyms"]),
        numbers=_labelled(sections["numbers"]),
        hours=_labelled(sections["time"]),
        periods=periods,
        no_answers=_lines(sections["no answers"]),
        dates=_lines(sections["dates"]),
        light_words=frozenset(word for word in light if not UNSPACED.search(word)),
        light_phrases=frozenset(word for word in light if UNSPACED.search(word)),
        fillers=_word_sets(sections["fillers"]),
        languages=_word_sets(sections["languages"]),
        asking=_labelled(sections["asking"]),
        question_words=_folded(sections["question words"][0], ","),
        which=_folded(sections["which"][0], ","),
        directions={name: _folded(sections[name][0], ",") for name in ("from", "to", "in either order", "passive")},
    )


def _read_sections() -> dict[str, list[str]]:
    source = (files(__package__) / "question_words.txt").read_text(encoding="utf-8")
    parts = re.split(r"(?m)^> *", re.sub(r"(?m)^#.*\n", "", source))[1:]
    named = [part.split("\n", 1) for part in parts]
    return {name.strip(): [line for line in lines.split("\n") if line.strip()] for name, lines in named}


def _add_all(phrases: Phrases, listed: str, label: str) -> None:
    for phrase in listed.split(","):
        phrases.add(phrase.strip(), label)


def _add_lines(phrases: Phrases, lines: list[str], label: str) -> None:
    for line in lines:
        _add_all(phrases, line, label)


def _lines(lines: list[str]) -> Phrases:
    phrases = Phrases()
    _add_lines(phrases, lines, "")
    return phrases


def _numbered(lines: list[str]) -> Phrases:
    phrases = Phrases()
    for number, line in enumerate(lines):
        _add_all(phrases, line, str(number))
    return phrases


def _labelled(lines: list[str]) -> Phrases:
    phrases = Phrases()
    for line in lines:
        label, _, listed = line.partition(":")
        _add_all(phrases, listed, label.strip())
    return phrases


def _word_sets(lines: list[str]) -> dict[str, frozenset[str]]:
    return {name: _folded(words, None) for name, _, words in (line.partition(": ") for line in lines)}


def _folded(listed: str, separator: str | None) -> frozenset[str]:
    return frozenset(text.fold(word) for word in listed.split(separator))


@cache
def _exceptions() -> dict[bool, frozenset[str]]:
    """The phrases that are another word in English (True), and in other languages (False)."""
    sections = _read_sections()
    return {True: _folded(sections["not english"][0], ","), False: _folded(sections["only english"][0], ",")}


@cache
def _only_portuguese() -> frozenset[str]:
    return _folded(_read_sections()["only portuguese"][0], ",")


def is_foreign(phrase: str, language: str | None) -> bool:
    """Whether a phrase of a table is another word in this language."""
    if language is None:
        return False
    if phrase in _only_portuguese():
        return language != "portuguese"
    return phrase in _exceptions()[language == _ENGLISH]
