"""A full-text index over the sections, in memory, built by the first search."""

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

# The bm25 weights of the columns: package name, section title, section text.
NAME_WEIGHT, TITLE_WEIGHT, TEXT_WEIGHT = 4.0, 2.0, 1.0
MAX_CANDIDATES = 30
# A section answers if it has at least this share of the question's words, weighted by rarity.
MIN_COVERAGE = 0.6
# Words whose weight is at least this share of the highest are the topic of the question: all must occur.
MIN_TOPIC_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class FoundSection:
    """A section with its share (0 to 1) of the question's words, weighted by rarity."""

    section: Section
    coverage: float


class Library:
    """Sections that can be searched by words. Thread-safe."""

    def __init__(self, read: Callable[[], Sequence[Section]]) -> None:
        """`read` returns the sections; the first search calls it once."""
        self._read = read
        self._lock = threading.Lock()

    def search(self, question: str, *, limit: int) -> list[FoundSection]:
        """At most `limit` sections that answer the question, best first, one per address; often none."""
        weights = read_question(question).weights
        if not weights:
            return []
        with self._lock:
            weights = {key: weight * self._rarity(key) for key, weight in weights.items()}
            candidates = self._candidates(sorted(weights))
        hits = [hit for section in candidates if (hit := _compare(section, weights))]
        # Among sections with similar coverage, the introduction of a package in the question comes first; then bm25
        # decides.
        stems = set(stem_sequence(question))
        hits.sort(key=lambda hit: (-round(hit.coverage, 1), not _introduces(hit.section, stems)))
        by_url: dict[str, FoundSection] = {}
        for hit in hits:
            if hit.coverage >= MIN_COVERAGE:
                by_url.setdefault(hit.section.url, hit)
        return list(by_url.values())[:limit]

    @cached_property
    def _database(self) -> tuple[sqlite3.Connection, list[Section]]:
        sections = list(self._read())
        # Sections are stemmed like questions, so the tokenizer only has to split at spaces.
        database = sqlite3.connect(":memory:", check_same_thread=False)
        database.execute("CREATE VIRTUAL TABLE sections USING fts5(name, title, text, tokenize='unicode61')")
        database.executemany(
            "INSERT INTO sections(rowid, name, title, text) VALUES (?, ?, ?, ?)",
            ((n, _stem_text(s.project), _stem_text(s.title), _stem_text(s.text)) for n, s in enumerate(sections)),
        )
        return database, sections

    def _candidates(self, keys: Sequence[str]) -> list[Section]:
        database, sections = self._database
        rows = database.execute(
            "SELECT rowid FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, ?, ?, ?), rowid LIMIT ?",
            (" OR ".join(map(_quote, keys)), NAME_WEIGHT, TITLE_WEIGHT, TEXT_WEIGHT, MAX_CANDIDATES),
        )
        return [sections[rowid] for (rowid,) in rows]

    def _rarity(self, key: str) -> float:
        database, sections = self._database
        rows = database.execute("SELECT count(*) FROM sections WHERE sections MATCH ?", (_quote(key),))
        (count,) = rows.fetchone()
        return math.log(1.0 + len(sections) / (1.0 + float(count)))


def _introduces(section: Section, stems: set[str]) -> bool:
    return section.is_lead and stems.issuperset(stem_sequence(section.project))


def _compare(section: Section, weights: dict[str, float]) -> FoundSection | None:
    """The section with its coverage, or None when it lacks the topic of the question."""
    stems = {*stem_sequence(section.title), *stem_sequence(section.text)}
    min_topic_weight = MIN_TOPIC_SHARE * max(weights.values())
    if any(weight >= min_topic_weight and key not in stems for key, weight in weights.items()):
        return None
    return FoundSection(section, sum(w for key, w in weights.items() if key in stems) / sum(weights.values()))


def _stem_text(text: str) -> str:
    return " ".join(stem(word) for word in words(text))


def _quote(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'
