"""Compares what an answer says and cites with what a case expects."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source

_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_EMPHASIS = re.compile(r"[*_`]")
_CHAPTER_SEPARATOR = " › "
_OWN = "knowledge_base"


def marked(answer: str) -> list[str]:
    """The ids that an answer marks, each once, in order."""
    return list(dict.fromkeys(_MARK.findall(answer)))


def without_marks(answer: str) -> str:
    """The answer without the marks of its sources."""
    return _MARK.sub("", answer)


def says(text: str, phrase: str) -> bool:
    """Whether `phrase` stands in `text`, whatever their case, width, emphasis and white space.

    A number at an end of the phrase has to be the whole number: "50" is not in "150", "5,000" or "50.5".
    """
    wanted = re.escape(_fold(phrase))
    before = r"(?<!\d)(?<!\d[.,])" if phrase[:1].isdecimal() else ""
    after = r"(?!\d)(?![.,]\d)" if phrase[-1:].isdecimal() else ""
    return re.search(f"{before}{wanted}{after}", _fold(text)) is not None


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
    path = [_fold(part) for part in (source.chapter or "").split(_CHAPTER_SEPARATOR)]
    wanted = [_fold(part) for part in chapter.split(_CHAPTER_SEPARATOR)]
    return any(path[start : start + len(wanted)] == wanted for start in range(len(path)))


def _fold(text: str) -> str:
    plain = _EMPHASIS.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(plain.replace("’", "'").split())
