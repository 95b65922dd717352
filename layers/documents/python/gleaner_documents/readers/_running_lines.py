"""Removes the lines that are printed on every page: running heads and feet, and page numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gleaner_documents.readers._pdf_layout import Line

_EDGE_LINES = 3  # at the top and at the bottom of a page
_MAX_LINE_CHARS = 120
_NEAR = 2  # pages apart: heads differ on left and right pages
_MIN_REPEATS = 3
_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[ivxlc]+(?![^\W\d_])", re.IGNORECASE)


def drop_running_lines(pages: Sequence[list[Line]], labels: Sequence[str | None]) -> list[list[Line]]:
    """The pages without lines that repeat at the same height of near pages, but for the first of each kind.

    A line repeats if it differs in its numbers only. One with nothing but a page number goes wherever it stands at
    the edge of a page and the number is that page's, or continues that of the pages before.
    """
    places: dict[tuple[str, int], list[tuple[int, Line]]] = defaultdict(list)
    for number, lines in enumerate(pages):
        for line in _edge_lines(lines):
            places[_key(line.text), round(line.top / 4)].append((number, line))
    dropped: set[int] = set()
    for (key, _), occurrences in places.items():
        if _is_bare_number(key):
            dropped |= {id(line) for number, line in occurrences if _is_page_number(line, number, labels[number])}
        repeats = [group for group in _near_groups(occurrences) if len(group) >= min(_MIN_REPEATS, len(pages))]
        for group in repeats:
            start = 0 if _is_bare_number(key) else 1
            if len(group) >= 2:
                dropped |= {id(line) for _, line in group[start:]}
    remaining = [[line for line in lines if id(line) not in dropped] for lines in pages]
    # A page of which nothing else is left was no page with running lines.
    return [rest or lines for rest, lines in zip(remaining, pages, strict=True)]


def _edge_lines(lines: Sequence[Line]) -> list[Line]:
    ordered = sorted((line for line in lines if len(line.text) <= _MAX_LINE_CHARS), key=lambda line: -line.top)
    return ordered if len(ordered) <= 2 * _EDGE_LINES else ordered[:_EDGE_LINES] + ordered[-_EDGE_LINES:]


def _key(text: str) -> str:
    return _NUMBER.sub("#", text)


def _is_bare_number(key: str) -> bool:
    return "#" in key and not any(character.isalnum() for character in key)


def _is_page_number(line: Line, number: int, label: str | None) -> bool:
    bare = line.text.strip("-–—.|/()[] ")
    return bare in (label, str(number + 1))


def _near_groups(occurrences: Sequence[tuple[int, Line]]) -> Iterator[list[tuple[int, Line]]]:
    """Yield the runs of occurrences in which each is near the one before."""
    group: list[tuple[int, Line]] = []
    for number, line in occurrences:
        if group and number - group[-1][0] > _NEAR:
            yield group
            group = []
        group.append((number, line))
    if group:
        yield group
