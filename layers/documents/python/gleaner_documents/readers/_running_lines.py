"""Removes the lines that are printed on every page: running heads and feet, and page numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gleaner_documents.readers._pdf_layout import Line

_EDGE_LINES = 3  # at the top and at the bottom of a page
_MAX_LINE_CHARS = 120
_NEAR = 2  # pages apart: heads differ on left and right pages
_MIN_REPEATS = 3  # or the number of pages, but at least 2
_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)|(?<![^\W_])[ivxlc]+(?![^\W_])", re.IGNORECASE)
_MAX_NUMBERS = 4
_NUMBER_SIGNS = "-–—.|/()[] "

_Occurrence = tuple[int, Line]


def drop_running_lines(pages: Sequence[list[Line]], labels: Sequence[str | None]) -> list[list[Line]]:
    """The pages without lines that repeat at the same height of near pages, but for the first of each.

    A line repeats if it is the same, or if one number in it counts the pages. One that is only the number of its page
    goes everywhere.
    """
    places: dict[tuple[str, int], list[_Occurrence]] = defaultdict(list)
    dropped: set[int] = set()
    for page, lines in enumerate(pages):
        for line in _edge_lines(lines):
            if line.text.strip(_NUMBER_SIGNS) in (labels[page], str(page + 1)):
                dropped.add(id(line))
            for key in _keys(line.text, page):
                places[key, round(line.top / 4)].append((page, line))
    min_repeats = max(2, min(_MIN_REPEATS, len(pages)))
    for occurrences in places.values():
        for group in _near_groups(occurrences):
            if len(group) >= min_repeats:
                first = 0 if _is_bare_number(group[0][1].text) else 1
                dropped |= {id(line) for _, line in group[first:]}
    remaining = [[line for line in lines if id(line) not in dropped] for lines in pages]
    # A page of which nothing else is left was no page with running lines.
    return [rest or lines for rest, lines in zip(remaining, pages, strict=True)]


def _edge_lines(lines: Sequence[Line]) -> list[Line]:
    ordered = sorted(lines, key=lambda line: -line.top)
    if len(ordered) > 2 * _EDGE_LINES:
        ordered = ordered[:_EDGE_LINES] + ordered[-_EDGE_LINES:]
    return [line for line in ordered if len(line.text) <= _MAX_LINE_CHARS]


def _keys(text: str, page: int) -> Iterator[str]:
    """Yield what is the same on all pages that repeat the line: itself, or itself with a number less the page."""
    if not _is_bare_number(text):
        yield text
    for number in list(_NUMBER.finditer(text))[:_MAX_NUMBERS]:
        start = int(number[0]) - page if number[0].isdecimal() else "roman"
        yield f"{text[: number.start()]}\0{start}\0{text[number.end() :]}"


def _is_bare_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip(_NUMBER_SIGNS)) is not None


def _near_groups(occurrences: Sequence[_Occurrence]) -> Iterator[list[_Occurrence]]:
    """Yield the runs of occurrences in which each is near the one before."""
    group: list[_Occurrence] = []
    for page, line in occurrences:
        if group and page - group[-1][0] > _NEAR:
            yield group
            group = []
        group.append((page, line))
    if group:
        yield group
