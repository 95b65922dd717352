"""A full-text index over the sections, in memory, built when it is first searched."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gleaner.text import stem, words
from gleaner_local.extractive.question import read_question
from gleaner_local.extractive.scoring import stem_sequence
from gleaner_local.outside_world.descriptions import Section

# bm25 weights of the columns: the name of the package, the title of the section, its text.
NAME_WEIGHT, TITLE_WEIGHT, TEXT_WEIGHT = 4.0, 2.0, 1.0
CANDIDATES = 30
# A section answers when it holds this share of the question's words, weighted by rarity.
MIN_COVERAGE = 0.6
# A word within this factor of the rarest is what the question is about, and must be there.
NEAR_RAREST = 0.9


@dataclass(frozen=True, slots=True)
class FoundSection:
    """A section with the share (0 to 1) of the question's words that it holds, weighted by rarity."""

    section: Section
    coverage: float


class Library:
    """Sections that can be searched by words; safe to use from several threads."""

    def __init__(self, read: Callable[[], Sequence[Section]]) -> None:
        """`read` gives the sections; it is called once, by the first search."""
        self._read = read
        self._lock = threading.Lock()

    def search(self, question: str, *, limit: int) -> list[FoundSection]:
        """At most `limit` sections that answer the question, best first, one for each address; often none."""
        weights = read_question(question).weights
        if not weights:
            return []
        with self._lock:
            weights = {key: weight * self._rarity(key) for key, weight in weights.items()}
            candidates = self._candidates(sorted(weights))
        covered = [found for section in candidates if (found := _compare(section, weights))]
        # Between sections that cover about as much, what introduces a package named in the question comes first,
        # then bm25 decides.
        asked = set(stem_sequence(question))
        best = sorted(covered, key=lambda found: (-round(found.coverage, 1), not _introduces(found.section, asked)))
        by_url: dict[str, FoundSection] = {}
        for found in best:
            if found.coverage >= MIN_COVERAGE:
                by_url.setdefault(found.section.url, found)
        return list(by_url.values())[:limit]

    @cached_property
    def _database(self) -> tuple[sqlite3.Connection, list[Section]]:
        sections = list(self._read())
        # Stemmed here, by the same stemmer as questions are, so the tokenizer has only to cut at spaces.
        database = sqlite3.connect(":memory:", check_same_thread=False)
        database.execute("CREATE VIRTUAL TABLE sections USING fts5(name, title, text, tokenize='unicode61')")
        database.executemany(
            "INSERT INTO sections(rowid, name, title, text) VALUES (?, ?, ?, ?)",
            ((n, _stemmed(s.project), _stemmed(s.title), _stemmed(s.text)) for n, s in enumerate(sections)),
        )
        return database, sections

    def _candidates(self, keys: Sequence[str]) -> list[Section]:
        database, sections = self._database
        rows = database.execute(
            "SELECT rowid FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, ?, ?, ?), rowid LIMIT ?",
            (" OR ".join(map(_quoted, keys)), NAME_WEIGHT, TITLE_WEIGHT, TEXT_WEIGHT, CANDIDATES),
        )
        return [sections[rowid] for (rowid,) in rows]

    def _rarity(self, key: str) -> float:
        database, sections = self._database
        rows = database.execute("SELECT count(*) FROM sections WHERE sections MATCH ?", (_quoted(key),))
        (holding,) = rows.fetchone()
        return math.log(1.0 + len(sections) / (1.0 + float(holding)))


def _introduces(section: Section, asked: set[str]) -> bool:
    return section.is_lead and asked.issuperset(stem_sequence(section.project))


def _compare(section: Section, weights: dict[str, float]) -> FoundSection | None:
    """The section with its coverage, or None when it lacks what the question is about."""
    held = {*stem_sequence(section.title), *stem_sequence(section.text)}
    rarest = NEAR_RAREST * max(weights.values())
    if any(weight >= rarest and key not in held for key, weight in weights.items()):
        return None
    return FoundSection(section, sum(w for key, w in weights.items() if key in held) / sum(weights.values()))


def _stemmed(text: str) -> str:
    return " ".join(stem(word) for word in words(text))


def _quoted(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'
