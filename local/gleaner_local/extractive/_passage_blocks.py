"""Splits a passage into paragraphs, list items, table rows and code, each with what introduces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

# A quote shows this many lines of code; longer code is cut, at blank lines where there are any.
MAX_CODE_LINES = 12

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.+?)\s*#*\s*$")
_ITEM = re.compile(r"^(?P<indent>\s*)(?:[-*+•]|\d{1,3}[.)])\s+(?P<text>.+)$")
_QUOTE = re.compile(r"^\s*>\s?")
_RULE = re.compile(r"^\s*(?:[-*_=~]\s*){3,}$")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")  # a cell that holds "|" writes it as "\|"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or table row, or a piece of `code`. `context` is what stands above it.

    `is_part`: a list item or table row.
    """

    text: str
    context: str
    code: str = ""
    is_part: bool = False


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a passage, in order."""
    reading = _Reading()
    lines = [*text.splitlines(), ""]
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        yield from reading.take(line, next_line)
    yield from reading.end_code()


@dataclass(slots=True)
class _Reading:
    """The state between two lines of a passage."""

    heading: str = ""
    introduction: str = ""  # of the list or table that is read, or the paragraph before it
    paragraph: list[str] = field(default_factory=list)
    item_indent: int | None = None  # of the item that is read, None in a paragraph
    items: list[tuple[int, str]] = field(default_factory=list)  # the items above, by indent
    columns: list[str] = field(default_factory=list)
    code: list[str] | None = None

    def take(self, line: str, next_line: str) -> Iterator[Block]:
        """Read a line; yield the blocks that end before it or with it."""
        if _FENCE.match(line):
            yield from self._end_paragraph()
            yield from self.end_code()
            self.code = [] if self.code is None else None
        elif self.code is not None:
            self.code.append(line)
        else:
            yield from self._take_text(line, next_line)

    def end_code(self) -> Iterator[Block]:
        """Yield the code block that is read, if any."""
        for piece in _cut_code(self.code or []):
            yield Block("", self._context(), piece)
        if self.code is not None:
            self.code = []

    def _take_text(self, line: str, next_line: str) -> Iterator[Block]:
        title, item, row = _HEADING.match(line), _ITEM.match(line), _TABLE_ROW.match(line)
        ends = title or item or row or not line.strip() or _RULE.match(line)
        if ends:
            yield from self._end_paragraph()
        if not row:
            self.columns = []
        if title:
            self.heading, self.introduction, self.items = title["text"], "", []
        elif item and not _RULE.match(line):
            self.item_indent, self.paragraph = len(item["indent"]), [item["text"]]
        elif row:
            yield from self._take_row(line, next_line)
        elif not ends:
            self.paragraph.append(_QUOTE.sub("", line).strip())

    def _end_paragraph(self) -> Iterator[Block]:
        if not self.paragraph:
            return
        text = " ".join(self.paragraph)
        if self.item_indent is None:
            yield Block(text, self.heading)
            self.introduction, self.items = text, []
        else:
            self.items = [entry for entry in self.items if entry[0] < (self.item_indent or 0)]
            yield Block(text, self._context(), is_part=True)
            self.items.append((self.item_indent, text))
        self.paragraph, self.item_indent = [], None

    def _take_row(self, line: str, next_line: str) -> Iterator[Block]:
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line.strip().strip("|"))]
        if _TABLE_RULE.match(next_line):
            self.columns = cells
        elif not _TABLE_RULE.match(line):
            yield Block(_row_text(self.columns, cells), self._context(), is_part=True)

    def _context(self) -> str:
        introduction = self.introduction if self.introduction.endswith((":", "：")) else ""
        return " ".join(filter(None, (self.heading, introduction, *(text for _, text in self.items))))


def _row_text(columns: list[str], cells: list[str]) -> str:
    pairs = zip_longest(columns, cells, fillvalue="")
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in pairs if cell)


def _cut_code(lines: list[str]) -> Iterator[str]:
    """Yield code in pieces of at most `MAX_CODE_LINES` lines, without blank lines around them."""
    piece: list[str] = []
    for position, line in enumerate(lines):
        piece.append(line)
        rest = len(lines) - position - 1
        is_break = not line.strip() and len(lines) > MAX_CODE_LINES
        if len(piece) == MAX_CODE_LINES or is_break or not rest:
            text = "\n".join(piece).strip("\n").rstrip()
            if text.strip():
                yield text.strip() if "\n" not in text else text
            piece = []
