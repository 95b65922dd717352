"""Writes the table of a page in rows, so that each cell stands under all of its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from gleaner_documents.readers._sections import MAX_HEADING_CHARS

# A cell is repeated in every row and column that it spans. A page may ask for 65,534 rows times 1,000 columns.
_REPEATS_PER_CELL = 10
_FREE_REPEATS = 2_000
_CHARS_PER_REPEAT = 40
# Rows that a chunk can hold with their header, roughly; a longer table is written with its header again.
_MAX_BLOCK_CHARS = 600
_MAX_ROW_CHARS = 1_500  # of a row without headers; a longer one lays out text
_ITEM_MARK = re.compile(r" *- (?:- )*")


@dataclass(slots=True)
class RepeatBudget:
    """How often cells may still be repeated on a page; grows with the number of its cells."""

    left: int = _FREE_REPEATS

    def take(self, text: str, wanted: int) -> int:
        """Return how many of the `wanted` repetitions of `text` are left, and use them up."""
        price = 1 + len(text) // _CHARS_PER_REPEAT
        count = min(wanted, self.left // price)
        self.left -= count * price
        return count


@dataclass(slots=True)
class _Cell:
    text: str
    is_header: bool = False
    rows: int = 1
    columns: int = 1
    is_bold: bool = False


_EMPTY = _Cell("")


@dataclass(slots=True)
class _Row:
    cells: list[_Cell] = field(default_factory=list)
    group: int = 0  # number of its <thead>, <tbody> or <tfoot>
    in_head: bool = False

    @property
    def is_header(self) -> bool:
        corner, *others = self.cells
        return self.in_head or ((corner.is_header or not corner.text) and all(cell.is_header for cell in others))

    @property
    def is_full_width(self) -> bool:
        return len({id(cell) for cell in self.cells}) == 1 and len(self.cells) > 1


class HtmlTable:
    """Takes rows and cells in document order; `write` lays them out."""

    def __init__(self, budget: RepeatBudget) -> None:
        self.caption = ""
        self._budget = budget
        self._rows: list[_Row] = []
        self._group, self._in_head = 0, False

    def start_group(self, *, in_head: bool) -> None:
        """Start <thead>, <tbody> or <tfoot>: no cell spans beyond one."""
        self._group, self._in_head = self._group + 1, in_head

    def start_row(self) -> None:
        """Start a row."""
        self._rows.append(_Row(group=self._group, in_head=self._in_head))

    def add_cell(self, text: str, *, is_header: bool, is_bold: bool, rows: int, columns: int) -> None:
        """Add a cell that may span rows and columns."""
        if not self._rows:
            self.start_row()
        self._budget.left += _REPEATS_PER_CELL
        self._rows[-1].cells.append(_Cell(text.strip(), is_header, rows, columns, is_bold))

    def write(self) -> str:
        """The table in Markdown; one without headers whose cells hold much text is written cell by cell."""
        rows = [row for row in self._expand() if any(cell.text for cell in row.cells)]
        _find_bold_header(rows)
        has_headers = any(cell.is_header for row in rows for cell in row.cells) or any(row.in_head for row in rows)
        if not has_headers and _lays_out_text(rows):
            body = "\n\n".join(cell.text for row in rows for cell, _ in groupby(row.cells) if cell.text)
        else:
            body = "\n\n".join(_write_blocks(rows))
        return "\n".join(part for part in (self.caption, body) if part)

    def write_inline(self) -> str:
        """The table as text of a cell of another table."""
        rows = (", ".join(_flatten(cell.text) for cell in row.cells if cell.text) for row in self._rows)
        return "; ".join(part for part in (self.caption, *rows) if part)

    def _expand(self) -> list[_Row]:
        """Repeat cells in the rows and columns that they span, as far as the budget goes."""
        grid: list[_Row] = []
        for _, group in groupby(self._rows, key=lambda row: row.group):
            pending: dict[int, tuple[_Cell, int]] = {}  # column -> the cell from above, and its rows still to come
            rows = list(group)
            for index, row in enumerate(rows):
                pending = self._place(row, pending, rows_below=len(rows) - index - 1)
            grid += rows
        return grid

    def _place(self, row: _Row, pending: dict[int, tuple[_Cell, int]], rows_below: int) -> dict[int, tuple[_Cell, int]]:
        cells: list[_Cell] = []
        below: dict[int, tuple[_Cell, int]] = {}

        def add(cell: _Cell, rows: int) -> None:
            if rows and self._budget.take(cell.text, 1):
                below[len(cells)] = cell, rows - 1
            cells.append(cell)

        def add_from_above() -> None:
            while len(cells) in pending:
                add(*pending[len(cells)])

        for cell in row.cells:
            add_from_above()
            rows = (rows_below if cell.rows == 0 else min(cell.rows - 1, rows_below)) if cell.text else 0
            for _ in range(1 + self._budget.take(cell.text, cell.columns - 1)):
                add(cell, rows)
        for column in sorted(pending):
            if column >= len(cells) and self._budget.take("", 1 + (column - len(cells)) // 8):
                cells += [_EMPTY] * (column - len(cells))
                add(*pending[column])
        row.cells = cells
        return below


def _find_bold_header(rows: list[_Row]) -> None:
    """Programs that know no header cells, word processors among them, write the first row in bold.

    The corner above the names of rows may be empty.
    """
    if len(rows) < 2 or any(row.is_header for row in rows):  # noqa: PLR2004
        return
    first, second = rows[0].cells, rows[1].cells
    is_header = (first[0].is_bold or not first[0].text) and all(cell.is_bold for cell in first[1:])
    if len(first) > 1 and is_header and not all(cell.is_bold for cell in second):
        for cell in first:
            cell.is_header = True


def _lays_out_text(rows: list[_Row]) -> bool:
    if all(len(row.cells) == 1 for row in rows):
        return True
    texts = [cell.text for row in rows for cell in row.cells]
    return any("\n\n" in text or "```" in text or len(text) > _MAX_ROW_CHARS for text in texts)


def _write_blocks(rows: list[_Row]) -> Iterator[str]:
    """Yield the rows below each set of header rows; the title of a group of rows is part of their first cells."""
    headers: list[_Row] = []
    body: list[list[str]] = []
    title = ""
    for row in rows:
        texts = [_flatten(cell.text) for cell in row.cells]
        if row.is_full_width and (headers or body) and not row.in_head:
            if body:
                yield from _write_block(headers, body)
            body, title = [], texts[0] if row.cells[0].is_header and len(texts[0]) <= MAX_HEADING_CHARS else ""
            yield texts[0]
        elif row.is_header:
            if body:
                yield from _write_block(headers, body)
                headers, body, title = [], [], ""
            headers.append(row)
        else:
            if not headers and row.cells[0].is_header and any(texts[1:]):
                texts = [f"{texts[0].rstrip(':')}: {', '.join(filter(None, texts[1:]))}"]
            body.append([f"{title}, {texts[0]}".rstrip(", "), *texts[1:]] if title else texts)
    yield from _write_block(headers, body)


def _write_block(headers: list[_Row], body: list[list[str]]) -> Iterator[str]:
    if not headers and not body:
        return
    columns = zip_longest(*(row.cells for row in headers), fillvalue=_EMPTY)
    names = [", ".join(dict.fromkeys(_flatten(cell.text) for cell in column if cell.text)) for column in columns]
    head = f"{_line(names)}\n|{' --- |' * len(names)}\n" if headers else ""
    lines: list[str] = []
    size = 0
    for row in body:
        line = row[0] if len(row) == 1 and not headers else _line(row)
        if lines and size + len(line) > _MAX_BLOCK_CHARS and len(head) <= _MAX_BLOCK_CHARS:
            yield head + "\n".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    yield (head + "\n".join(lines)).rstrip("\n")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _flatten(text: str) -> str:
    """The text of a cell on one line; the items of a list are separated by semicolons."""
    if "\n" not in text:
        return _ITEM_MARK.sub("", text, count=1) if text.startswith("- ") else text
    flat = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("```"):
            continue
        mark = _ITEM_MARK.match(line)
        rest = line[mark.end() :] if mark else line.strip()
        flat += ("; " if mark and not flat.endswith((":", ";")) else " ") * bool(flat) + rest
    return flat
