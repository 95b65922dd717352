"""Puts the pieces of a PDF page into reading order: columns one after the other, lines, and paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gleaner_documents.readers._hyphenation import join_lines
from gleaner_documents.readers._pdf_pieces import Piece

_MAX_CUTS = 3  # of columns within columns
_TOLERANCE = 3  # points by which a letter may stand in a gutter
_MAX_GUTTERS = 8  # places for a gutter that are tried, the most frequent edges first
_MIN_COLUMN_LINES = 3
_MIN_COLUMN_CHARS = 18  # a line of a column, on average; a cell of a table is shorter
_MIN_FULL_SHARE = 0.6  # of the lines of a column are nearly as wide as the widest one; cells are ragged
_MIN_PARAGRAPH_CHARS = 20  # narrower text is verse, a list or a table and is left as it is
_MAX_SIZE_RATIO = 1.18  # of the lines of a paragraph
_MAX_PITCH = 2.5  # heights of a line, from one to the next of a paragraph
_GAP_OF_CELLS = 2.0  # heights of the line
_LIST_ITEM = re.compile(r"[-*+•‣◦▪●–]\s|\(?(\d{1,3}|[a-zA-Z])[.)]\s")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")
_HYPHEN_END = re.compile(r"\w[-\u2010\u00ad]$")


@dataclass(slots=True)
class Line:
    """A line of one column; `column` numbers the block of text that it stands in, `cells` says it has wide gaps."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    column: int = 0
    cells: bool = False


def read_lines(pieces: Sequence[Piece], gutters: Collection[float] = ()) -> list[Line]:
    """The lines of a page in reading order.

    `gutters` are places between columns that other pages of the document have (see `find_gutter`): there, one column
    of prose suffices, for the other one may hold a figure.
    """
    right_to_left = _is_right_to_left(pieces)
    lines: list[Line] = []
    layout = _Columns(gutters, right_to_left=right_to_left)
    for number, column in enumerate(layout.cut(_from_the_top(pieces))):
        for row in _rows(column):
            lines.append(_line(row, number, right_to_left=right_to_left))
    return lines


def join_paragraphs(lines: Sequence[Line], compounds: Container[str]) -> str:
    """The text of `lines` with each wrapped paragraph on one line."""
    edges = _edges(lines)
    pitches = _pitches(lines)
    paragraphs: list[str] = []
    for index, line in enumerate(lines):
        before = lines[index - 1] if index else None
        if before is not None and _continues(before, line, edges[line.column], pitches[line.column]):
            paragraphs[-1] = join_lines(paragraphs[-1], line.text, compounds)
        else:
            if before is not None and _is_apart(before, line, pitches[line.column]):
                paragraphs.append("")
            paragraphs.append(line.text)
    return "\n".join(paragraphs)


def _is_right_to_left(pieces: Sequence[Piece]) -> bool:
    text = "".join(piece.text for piece in pieces)
    return 2 * len(_RIGHT_TO_LEFT.findall(text)) > sum(map(str.isalpha, text))


def find_gutter(pieces: Sequence[Piece]) -> float | None:
    """Where a strip without text divides the page's prose into columns, as an x; None if nowhere."""
    return _Columns((), right_to_left=False).find_gutter(_from_the_top(pieces))


def _from_the_top(pieces: Iterable[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: -piece.middle)


class _Columns:
    """Cuts a page into blocks of one column."""

    def __init__(self, known_gutters: Collection[float], *, right_to_left: bool) -> None:
        self._known_gutters = known_gutters
        self._right_to_left = right_to_left

    def cut(self, pieces: list[Piece], cuts: int = 0) -> Iterator[list[Piece]]:
        """Yield the blocks in reading order; `pieces` are sorted from the top down."""
        gutter = self.find_gutter(pieces) if cuts < _MAX_CUTS else None
        if gutter is None:
            yield pieces
            return
        block: list[Piece] = []
        for band, is_columns in self._bands(pieces, gutter):
            if not is_columns:
                block += band
                continue
            if block:
                yield from self.cut(block, cuts + 1)
                block = []
            sides = _sides(band, gutter)
            for side in reversed(sides) if self._right_to_left else sides:
                yield from self.cut(side, cuts + 1)
        if block:
            yield from self.cut(block, cuts + 1)

    def find_gutter(self, pieces: Sequence[Piece]) -> float | None:
        """The place that divides the most text into columns."""
        if len(pieces) < 2 * _MIN_COLUMN_LINES:
            return None
        edges = Counter(4 * round(piece.left / 4) - 2 for piece in pieces)
        edges.update(4 * round(piece.right / 4) + 2 for piece in pieces)
        frequent = [edge for edge, count in edges.most_common(_MAX_GUTTERS) if count >= _MIN_COLUMN_LINES]
        best, best_score = None, 0
        for gutter in (*self._known_gutters, *frequent):
            score = self._score(pieces, gutter)
            if score > best_score:
                best, best_score = gutter, score
        return best

    def _score(self, pieces: Sequence[Piece], gutter: float) -> int:
        """How many characters stand in columns on both sides of the gutter."""
        left = sum(len(piece.text) for piece in pieces if piece.right <= gutter + _TOLERANCE)
        right = sum(len(piece.text) for piece in pieces if piece.left >= gutter - _TOLERANCE)
        if min(left, right) < _MIN_COLUMN_LINES * _MIN_COLUMN_CHARS:
            return 0
        sides = (_sides(band, gutter) for band, is_columns in self._bands(pieces, gutter) if is_columns)
        return sum(min(sum(len(piece.text) for piece in side) for side in pair) for pair in sides)

    def _bands(self, pieces: Sequence[Piece], gutter: float) -> Iterator[tuple[list[Piece], bool]]:
        """Cut from the top down at what crosses the gutter; says for each band whether it consists of columns."""
        band: list[Piece] = []
        for piece in pieces:
            if not _crosses(piece, gutter):
                band.append(piece)
                continue
            if band:
                yield band, self._are_columns(band, gutter)
                band = []
            yield [piece], False
        if band:
            yield band, self._are_columns(band, gutter)

    def _are_columns(self, band: Sequence[Piece], gutter: float) -> bool:
        if len(band) < 2 * _MIN_COLUMN_LINES:
            return False
        left, right = _sides(band, gutter)
        if min(len(left), len(right)) < _MIN_COLUMN_LINES:
            return False
        enough = any if gutter in self._known_gutters else all
        if not enough(_is_prose(side) for side in (left, right)):
            return False
        top = min(max(piece.top for piece in side) for side in (left, right))
        bottom = max(min(piece.bottom for piece in side) for side in (left, right))
        heights = (max(p.top for p in side) - min(p.bottom for p in side) for side in (left, right))
        return top - bottom >= 0.5 * min(heights)


def _crosses(piece: Piece, gutter: float) -> bool:
    return piece.left < gutter - _TOLERANCE and piece.right > gutter + _TOLERANCE


def _sides(band: Sequence[Piece], gutter: float) -> tuple[list[Piece], list[Piece]]:
    left = [piece for piece in band if (piece.left + piece.right) / 2 < gutter]
    return left, [piece for piece in band if (piece.left + piece.right) / 2 >= gutter]


def _is_prose(pieces: Sequence[Piece]) -> bool:
    rows = list(_rows(pieces))
    if len(rows) < _MIN_COLUMN_LINES or sum(len(piece.text) for piece in pieces) < _MIN_COLUMN_CHARS * len(pieces):
        return False
    widths = [max(piece.right for piece in row) - min(piece.left for piece in row) for row in rows]
    return sum(width >= 0.7 * max(widths) for width in widths) >= _MIN_FULL_SHARE * len(rows)


def _rows(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces that stand on one line; `pieces` are sorted from the top down."""
    row: list[Piece] = []
    for piece in pieces:
        if row and not row[0].bottom < piece.middle < row[0].top and not piece.bottom < row[0].middle < piece.top:
            yield row
            row = []
        row.append(piece)
    if row:
        yield row


def _line(row: list[Piece], column: int, *, right_to_left: bool) -> Line:
    ordered = sorted(row, key=lambda piece: -piece.right if right_to_left else piece.left)
    size = max(row, key=lambda piece: len(piece.text)).size
    text = ordered[0].text
    cells = False
    for before, piece in pairwise(ordered):
        gap = before.left - piece.right if right_to_left else piece.left - before.right
        cells |= gap > _GAP_OF_CELLS * size
        text += (" " if gap > 0.12 * size else "") + piece.text
    return Line(
        text=_LEADERS.sub(" … ", text),
        left=min(piece.left for piece in row),
        right=max(piece.right for piece in row),
        bottom=min(piece.bottom for piece in row),
        top=max(piece.top for piece in row),
        size=size,
        column=column,
        cells=cells,
    )


def _edges(lines: Sequence[Line]) -> dict[int, tuple[float, float]]:
    edges: dict[int, tuple[float, float]] = {}
    for line in lines:
        left, right = edges.get(line.column, (line.left, line.right))
        edges[line.column] = (min(left, line.left), max(right, line.right))
    return edges


def _pitches(lines: Sequence[Line]) -> dict[int, float]:
    """The usual distance between lines, for each column."""
    pitches: dict[int, list[float]] = {}
    for line, following in pairwise(lines):
        if line.column == following.column and line.bottom > following.bottom:
            pitches.setdefault(line.column, []).append(line.bottom - following.bottom)
    usual = {column: sorted(values)[len(values) // 2] for column, values in pitches.items()}
    return {line.column: usual.get(line.column, line.size) for line in lines}


def _is_apart(line: Line, following: Line, pitch: float) -> bool:
    return line.column != following.column or line.bottom - following.bottom > 1.4 * min(pitch, _MAX_PITCH * line.size)


def _is_same_size(line: Line, following: Line) -> bool:
    return max(line.size, following.size) < _MAX_SIZE_RATIO * min(line.size, following.size)


def _continues(line: Line, following: Line, edges: tuple[float, float], pitch: float) -> bool:
    if _is_apart(line, following, pitch) or not _is_same_size(line, following) or _LIST_ITEM.match(following.text):
        return False
    if _HYPHEN_END.search(line.text):
        return True
    if line.cells or following.cells or len(line.text) < _MIN_PARAGRAPH_CHARS:
        return False
    right_to_left = bool(_RIGHT_TO_LEFT.match(line.text))
    indent = line.right - following.right if right_to_left else following.left - line.left
    if indent > line.size and not _LIST_ITEM.match(line.text):
        return False
    room = line.left - edges[0] if right_to_left else edges[1] - line.right
    return room <= _width_of_first_word(following) + 0.6 * line.size


def _width_of_first_word(line: Line) -> float:
    first = line.text.partition(" ")[0]
    return (line.right - line.left) * min(len(first), 30) / max(1, len(line.text))
