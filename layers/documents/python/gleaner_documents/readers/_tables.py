"""Writes the rows of a sheet as small tables, so that every row keeps its headers when the document is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gleaner_documents.readers._sections import SectionCollector

Row = Sequence[str]

# A table of this size fits into a chunk of default size, with its chapter.
_MAX_TABLE_PIECES = 160
_PIECE = re.compile(r"[A-Za-z\u00c0-\u024f]{1,8}|\d{1,3}|\S")  # as chunking estimates word pieces
_NUMBER = re.compile(r"[-+(]?[\W\d]*\d[\d.,:/%\s\W]*")
_MAX_HEADER_CHARS = 120
_MAX_CAPTION_CHARS = 100


def add_rows(collector: SectionCollector, rows: Iterable[Row], *, level: int) -> None:
    """Add the rows of a sheet: an empty row ends a table, and a single cell above a table is its heading.

    `level` is that of such headings.
    """
    caption = None
    for block in _blocks(rows):
        if caption is not None:
            collector.open_section(level, caption)
            caption = None
        if len(block) == 1 and len(block[0]) == 1 and _is_caption(block[0][0]):
            caption = block[0][0]
        else:
            _add_block(collector, block, level)
    if caption is not None:
        collector.add_text(caption)


def _is_caption(text: str) -> bool:
    return len(text) <= _MAX_CAPTION_CHARS and not text.endswith((".", "。", "।", ":"))


def _blocks(rows: Iterable[Row]) -> Iterator[list[list[str]]]:
    """Rows between empty rows, without the columns that are empty in all of them."""
    block: list[list[str]] = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            block.append(cells)
        elif block:
            yield _trim(block)
            block = []
    if block:
        yield _trim(block)


def _trim(block: list[list[str]]) -> list[list[str]]:
    used = sorted({column for row in block for column, cell in enumerate(row) if cell})
    return [[row[column] if column < len(row) else "" for column in used] for row in block]


def _add_block(collector: SectionCollector, block: list[list[str]], level: int) -> None:
    first = _first_table_row(block)
    for index, row in enumerate(block[:first]):
        text = next(filter(None, row))
        if index == first - 1 and first < len(block) and _is_caption(text):
            collector.open_section(level, text)
        else:
            collector.add_text(text)
    table = _trim(block[first:])
    if table and len(table[0]) == 1 and not first:
        collector.add_text("\n".join(row[0] for row in table))
    elif table:
        for text in _tables(table):
            collector.add_text(text)


def _first_table_row(block: list[list[str]]) -> int:
    """The index of the first row with more than one cell, if the rows above it are captions."""
    if len(block[0]) == 1:
        return 0
    return next((index for index, row in enumerate(block) if sum(map(bool, row)) > 1), len(block))


def _tables(table: list[list[str]]) -> Iterator[str]:
    """The table in parts that fit into a chunk, each under the headers."""
    if len(table) == 1 or not has_header(table):
        yield "\n".join(_write_row(row) for row in table)
        return
    header, *rows = table
    header_size = _size(header)
    part: list[list[str]] = []
    part_size = header_size
    for row in rows:
        size = _size(row)
        if header_size + size > _MAX_TABLE_PIECES:
            yield from _flush(header, part)
            part, part_size = [], header_size
            yield from _write_record(header, row)
            continue
        if part_size + size > _MAX_TABLE_PIECES:
            yield from _flush(header, part)
            part, part_size = [], header_size
        part.append(row)
        part_size += size
    yield from _flush(header, part)


def _flush(header: Row, rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        rule = "|" + " --- |" * len(header)
        yield "\n".join((_write_row(header), rule, *map(_write_row, rows)))


def has_header(table: Sequence[Row]) -> bool:
    """Whether the first of at least two rows holds headers: words, or years if the second row has other numbers."""
    first, second = table[0], table[1]
    numbers = [bool(_NUMBER.fullmatch(cell)) for cell in first]
    if any(len(cell) > _MAX_HEADER_CHARS for cell in first):
        return False
    if not any(numbers):
        return True
    # "Region | 2024 | 2025" above "North | 10 | 12": the corner is a word and the numbers are years.
    years = all(re.fullmatch(r"(?:19|20)\d\d", cell) for cell, number in zip(first, numbers, strict=True) if number)
    return years and not numbers[0] and first != second


def _size(row: Row) -> int:
    return sum(1 for cell in row for _ in _PIECE.finditer(cell)) + len(row) + 1


def _write_row(row: Row) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _write_record(header: Row, row: Row) -> Iterator[str]:
    """A row that is too wide for a table, as a line for each cell; every part begins with the row's first cell."""
    key, *lines = [f"- {name}: {cell}" if name else f"- {cell}" for name, cell in zip(header, row, strict=True) if cell]
    part = [key]
    part_size = key_size = _size([key])
    for line in lines:
        size = _size([line])
        if part_size + size > _MAX_TABLE_PIECES and len(part) > 1:
            yield "\n".join(part)
            part, part_size = [key], key_size
        part.append(line)
        part_size += size
    yield "\n".join(part)
