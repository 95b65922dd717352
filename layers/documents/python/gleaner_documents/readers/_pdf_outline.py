"""Finds where the bookmarks of a PDF point: to a page, and to a height or a line on it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from gleaner_documents.model import HEADING_SEPARATOR
from gleaner_documents.readers._pdf_layout import Line
from gleaner_documents.readers._pdf_pieces import turn
from gleaner_documents.readers._sections import shorten

_MAX_DEPTH = 6  # HTML also has six levels of headings
_MAX_BOOKMARKS = 50_000
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A bookmark's path of titles, and where it points on its page, if it says so, in the page's own coordinates."""

    path: str
    title: str
    x: float | None
    y: float | None


def read_outline(pdf: pdfium.PdfDocument) -> dict[int, list[Bookmark]]:
    """The bookmarks by page (from 0), in the order of the outline."""
    bookmarks: dict[int, list[Bookmark]] = defaultdict(list)
    path: list[str] = []
    for count, entry in enumerate(pdf.get_toc(max_depth=_MAX_DEPTH)):
        if count >= _MAX_BOOKMARKS:
            break
        title = shorten(entry.get_title())
        path = [*path[: entry.level], *[""] * (entry.level - len(path)), title]
        destination = entry.get_dest()
        page = destination.get_index() if destination else None
        if destination is None or page is None or not any(path):
            continue
        x, y = _position(destination)
        bookmarks[page].append(Bookmark(HEADING_SEPARATOR.join(filter(None, path)), title, x, y))
    return bookmarks


def divide_page(
    lines: Sequence[Line], bookmarks: Sequence[Bookmark], turns: int, chapter: str | None
) -> list[tuple[str | None, Sequence[Line]]]:
    """The lines of a page under the bookmark that each follows; those before the first one belong to `chapter`."""
    starts: list[tuple[int, str]] = []
    unplaced = 0
    for bookmark in bookmarks:
        start = _find_start(lines, bookmark, turns)
        if start is None:
            # Nothing says where it begins: the page begins with the first of these.
            start, unplaced = 0, unplaced + 1
            if unplaced > 1:
                continue
        starts.append((start, bookmark.path))
    starts.sort(key=lambda entry: entry[0])
    borders = [0, *(start for start, _ in starts), len(lines)]
    chapters = [chapter, *(path for _, path in starts)]
    return [
        (name, lines[start:end])
        for name, start, end in zip(chapters, borders, borders[1:], strict=False)
        if start < end
    ]


def _position(destination: pdfium.PdfDest) -> tuple[float | None, float | None]:
    mode, values = destination.get_view()
    if mode == pdfium_c.PDFDEST_VIEW_XYZ and values[1:]:
        return values[0], values[1]
    if mode in (pdfium_c.PDFDEST_VIEW_FITH, pdfium_c.PDFDEST_VIEW_FITBH) and values:
        return None, values[0]
    if mode == pdfium_c.PDFDEST_VIEW_FITR and values[3:]:
        return values[0], values[3]
    return None, None


def _find_start(lines: Sequence[Line], bookmark: Bookmark, turns: int) -> int | None:
    """The line that repeats the bookmark's title, nearest to where it points, else the first line below that."""
    titles = [index for index in range(len(lines)) if _has_title(lines, index, bookmark.title)]
    if bookmark.y is None:
        return titles[0] if titles else None
    x, y = turn(bookmark.x or 0.0, bookmark.y, turns)
    if turns % 2:
        return titles[0] if titles else None
    if titles:
        return min(titles, key=lambda index: abs(lines[index].top - y))
    for index, line in enumerate(lines):
        is_left_of_target = bookmark.x is not None and line.right < x
        if line.top <= y + 0.5 * line.size and not is_left_of_target:
            return index
    return None


def _has_title(lines: Sequence[Line], index: int, title: str) -> bool:
    wanted = _NOT_LETTERS.sub("", title).lower()
    if not wanted:
        return False
    text = ""
    for line in lines[index : index + 3]:  # a long title takes several lines
        text += _NOT_LETTERS.sub("", line.text).lower()
        if len(text) >= len(wanted):
            break
    # "Hulls" in the outline may be "1.1 Hulls" on the page.
    return wanted in (text, text.lstrip("0123456789"))
