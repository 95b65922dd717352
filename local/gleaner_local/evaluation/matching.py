"""Compares the places that an answer cites with those that a case expects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gleaner_local.evaluation.cases import Case, file_parts
from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.phrases import fold

_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_CHAPTER_SEPARATOR = re.compile(r"\s*›\s*|\s+>\s+")
_OWN = "knowledge_base"


def marked(answer: str) -> list[str]:
    """The ids that an answer marks, each once, in order."""
    return list(dict.fromkeys(_MARK.findall(answer)))


def without_marks(answer: str) -> str:
    """The answer without the marks of its sources."""
    return _MARK.sub("", answer)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case expects the answer: a file or a chapter, of which None stands for any."""

    file: str | None = None
    chapter: str | None = None

    def holds(self, other: Place) -> bool:
        """Whether every passage of the other place is of this one, too."""
        if self.file is not None and other.file is not None:
            return _ends_with(file_parts(other.file), file_parts(self.file))
        if self.chapter is not None and other.chapter is not None:
            return _runs_through(_chapter_path(other.chapter), _chapter_path(self.chapter))
        return False


def expected_places(case: Case) -> list[Place]:
    """What the case expects, without what another expected place holds: nobody could cite both.

    With files and chapters, each chapter is one place, which may be in any of the files.
    """
    chapters = [Place(chapter=chapter) for chapter in case.expected_chapters]
    places: list[Place] = []
    for place in chapters or [Place(file=file) for file in case.expected_files]:
        if not any(known.holds(place) for known in places):
            places = [known for known in places if not place.holds(known)] + [place]
    return places


def places_of(source: Source, case: Case) -> set[int]:
    """Which of the expected places a passage is from: several if a heading and one above it are expected."""
    if source.source_type != _OWN:
        return set()
    if case.expected_files and not any(_is_file(source, file) for file in case.expected_files):
        return set()
    return {number for number, place in enumerate(expected_places(case)) if is_at(source, place)}


def cited(sources: Sequence[Source], answer: str) -> list[Source]:
    """The sources of the knowledge base that the text marks; all of them if it marks none."""
    ids = set(marked(answer))
    own = [source for source in sources if source.source_type == _OWN]
    return [source for source in own if source.id in ids] if ids else own


def is_at(source: Source, place: Place) -> bool:
    """Whether a passage is from a place."""
    if place.file is not None:
        return _is_file(source, place.file)
    return place.chapter is None or _runs_through(_chapter_path(source.chapter or ""), _chapter_path(place.chapter))


def _is_file(source: Source, file: str) -> bool:
    return _ends_with(file_parts(source.source_file_path or ""), file_parts(file))


def _ends_with(path: Sequence[str], end: Sequence[str]) -> bool:
    return path[-len(end) :] == end


def _runs_through(path: Sequence[str], part: Sequence[str]) -> bool:
    return any(path[start : start + len(part)] == part for start in range(len(path)))


@lru_cache(maxsize=10_000)
def _chapter_path(chapter: str) -> tuple[str, ...]:
    """Its headings, in one form. People write "A > B" for what is "A › B" in the index."""
    return tuple(fold(part) for part in _CHAPTER_SEPARATOR.split(chapter))
