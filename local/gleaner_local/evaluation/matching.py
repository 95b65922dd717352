"""Compares the places that an answer cites with those that a case expects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.phrases import fold

_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_CHAPTER_SEPARATOR = " › "
_OWN = "knowledge_base"


def marked(answer: str) -> list[str]:
    """The ids that an answer marks, each once, in order."""
    return list(dict.fromkeys(_MARK.findall(answer)))


def without_marks(answer: str) -> str:
    """The answer without the marks of its sources."""
    return _MARK.sub("", answer)


def expected_places(case: Case) -> list[tuple[str, str]]:
    """What the case expects, as pairs of a file and a chapter; an empty one stands for any.

    With files and chapters, each chapter is one place, which may be in any of the files.
    """
    if case.expected_chapters:
        return [("", chapter) for chapter in case.expected_chapters]
    return [(file, "") for file in case.expected_files]


def place_of(source: Source, case: Case) -> int | None:
    """Which of the expected places a passage is from; None if from none of them."""
    if source.source_type != _OWN:
        return None
    if case.expected_files and not any(_is_file(source, file) for file in case.expected_files):
        return None
    places = expected_places(case)
    return next((number for number, place in enumerate(places) if _is_at(source, place)), None)


def cited(sources: Sequence[Source], answer: str) -> list[Source]:
    """The sources of the knowledge base that the text marks; all of them if it marks none."""
    ids = set(marked(answer))
    own = [source for source in sources if source.source_type == _OWN]
    return [source for source in own if source.id in ids] if ids else own


def _is_at(source: Source, place: tuple[str, str]) -> bool:
    file, chapter = place
    return _is_file(source, file) if file else _is_chapter(source, chapter)


def _is_file(source: Source, file: str) -> bool:
    path, end = (source.source_file_path or "").split("/"), file.strip("/").split("/")
    return path[-len(end) :] == end


def _is_chapter(source: Source, chapter: str) -> bool:
    path = [fold(part) for part in (source.chapter or "").split(_CHAPTER_SEPARATOR)]
    wanted = [fold(part) for part in chapter.split(_CHAPTER_SEPARATOR)]
    return any(path[start : start + len(wanted)] == wanted for start in range(len(path)))
