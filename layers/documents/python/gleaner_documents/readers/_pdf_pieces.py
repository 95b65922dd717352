"""Reads the text of a PDF page as pieces: runs of words on one line without a wide gap, with their place."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from gleaner_documents.readers._links import address_after
from gleaner_documents.readers._pdf_links import Link, find_address, read_links
from gleaner_documents.readers._pdf_words import (
    Word,
    clean,
    is_right_to_left,
    join_words,
    order_right_to_left,
    order_words,
)

# A gap of this share of the line's height separates pieces: columns, cells, or a heading's number and its text.
_WIDE_GAP = 0.9
MAX_PAGE_CHARS = 200_000  # a dense page of a newspaper has 20,000
_MAX_SAMPLES = 200
_POWER = re.compile("\\d+[-\u2212]?\\d+[.,;:)]?$")
_SMALL, _RAISED = 0.85, 0.15  # of the height of the number, for its exponent
_MIN_VERTICAL_CHARS = 3
_QUARTER_TURN = math.pi / 2
_DOWNWARDS = 3  # quarter turns: vertical writing is read as if it were turned to the right
# pdfium gives U+0002 for a hyphen at the end of a line, whichever it was.
_WORDS = re.compile("[^\\s\x02]+\x02?|\x02|[\r\n]")


@dataclass(slots=True)
class Piece:
    """Text and its box in points; x grows to the right and y upwards as the text is read, whatever the page's turn.

    `size` is the height of a line of its font, `height` that of the box, which marks and exponents enlarge.
    """

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(slots=True)
class _Run:
    """Words that become a piece, and the box around them."""

    left: float
    right: float
    bottom: float
    top: float
    size: float
    words: list[Word] = field(default_factory=list)

    def takes(self, left: float, right: float, bottom: float, top: float) -> bool:
        gap = max(left - self.right, self.left - right)  # to the right, or to the left in Arabic and Hebrew
        overlap = min(top, self.top) - max(bottom, self.bottom)
        height = top - bottom
        return gap <= _WIDE_GAP * max(self.size, height) and overlap >= 0.3 * min(self.size, height)

    def add(self, word: Word, bottom: float, top: float) -> None:
        self.words.append(word)
        self.left, self.right = min(self.left, word.left), max(self.right, word.right)
        self.bottom, self.top = min(self.bottom, bottom), max(self.top, top)


class TooMuchText(Exception):
    """A page draws more characters than any page that is read by people."""


def read_pieces(page: pdfium.PdfPage) -> tuple[list[Piece], int]:
    """The pieces of the page in the order of the file, and how many quarter turns the text is turned to the left.

    Raises TooMuchText above MAX_PAGE_CHARS.
    """
    text_page = page.get_textpage()
    try:
        text = _read_text(text_page)
        reader = _BoxReader(text_page, text)
        runs = list(_read_runs(text, reader))
        _write_addresses(runs, [_turn_link(link, reader.turns) for link in read_links(page)])
        pieces = [_piece(run) for run in runs]
    finally:
        text_page.close()
    return [piece for piece in pieces if piece.text and piece.size > 0], reader.turns


def turn(x: float, y: float, turns: int) -> tuple[float, float]:
    """The point as it lies when text that is turned to the left by `turns` quarters stands upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turns]


class _BoxReader:
    """Reads the boxes of characters by their index, turned so that most of the page's text is upright."""

    def __init__(self, text_page: pdfium.PdfTextPage, text: str) -> None:
        self._page = text_page
        self._box = pdfium_c.FS_RECTF()
        self._reference = ctypes.byref(self._box)
        self.turns = 0
        self.turns = self._main_turns(text)

    def read(self, index: int) -> tuple[float, float, float, float]:
        """Left, right, bottom and top."""
        box = self._box
        if not pdfium_c.FPDFText_GetLooseCharBox(self._page, index, self._reference):
            return 0.0, 0.0, 0.0, 0.0
        if not self.turns:
            return box.left, box.right, box.bottom, box.top
        x1, y1 = turn(box.left, box.bottom, self.turns)
        x2, y2 = turn(box.right, box.top, self.turns)
        return min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)

    def _main_turns(self, text: str) -> int:
        """How most of the text is turned; a sample suffices."""
        words = [match.span() for match in _WORDS.finditer(text)]
        sample = words[:: max(1, len(words) // _MAX_SAMPLES)]
        turns: Counter[int] = Counter()
        for start, end in sample:
            angle = pdfium_c.FPDFText_GetCharAngle(self._page, start)
            quarters = round(angle / _QUARTER_TURN) % 4 if angle >= 0 else 0
            if quarters == 0 and end - start >= _MIN_VERTICAL_CHARS:
                first, last = self.read(start), self.read(end - 1)
                is_vertical = abs(last[0] - first[0]) < 0.5 * (first[1] - first[0]) and last[3] < first[2]
                quarters = _DOWNWARDS if is_vertical else 0
            turns[quarters] += end - start
        return turns.most_common(1)[0][0] if turns else 0


def _read_text(text_page: pdfium.PdfTextPage) -> str:
    """The characters of the page, each at the index at which its box is read."""
    count = max(0, text_page.count_chars())
    if count > MAX_PAGE_CHARS:
        raise TooMuchText
    text = text_page.get_text_range(0, count) if count else ""
    if len(text) != count:  # characters outside the basic plane, or some that the bulk call leaves out
        text = "".join(chr(pdfium_c.FPDFText_GetUnicode(text_page, index)) for index in range(count))
    return text.replace("\ufffe", "\x02")


def _read_runs(text: str, reader: _BoxReader) -> Iterator[_Run]:
    run: _Run | None = None
    for match in _WORDS.finditer(text):
        if match[0] in "\r\n":
            if run:
                yield run
            run = None
            continue
        word, bottom, top = _read_word(match, reader)
        if run is None or not run.takes(word.left, word.right, bottom, top):
            if run:
                yield run
            run = _Run(word.left, word.right, bottom, top, top - bottom)
        run.add(word, bottom, top)
        if word.text.endswith("\x02"):
            yield run
            run = None
    if run:
        yield run


def _write_addresses(runs: Sequence[_Run], links: Sequence[Link]) -> None:
    """Write each address once, after the last of the words that lead to it, on whatever line that is."""
    if not links:
        return
    places = [(run, index) for run in runs for index in range(len(run.words))]
    for address, group in groupby(places, key=lambda place: _find_address(links, *place)):
        members = list(group)
        run, index = members[-1]
        suffix = address_after(" ".join(run.words[index].text for run, index in members), address) if address else ""
        run.words[index] = run.words[index]._replace(text=run.words[index].text + suffix)


def _find_address(links: Sequence[Link], run: _Run, index: int) -> str:
    word = run.words[index]
    return find_address(links, (word.left + word.right) / 2, (run.bottom + run.top) / 2)


def _turn_link(link: Link, turns: int) -> Link:
    (x1, y1), (x2, y2) = turn(link.left, link.bottom, turns), turn(link.right, link.top, turns)
    return Link(link.address, min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def _read_word(match: re.Match[str], reader: _BoxReader) -> tuple[Word, float, float]:
    """The word, and the bottom and top of its box. The first and the last character suffice for the box."""
    start, end = match.span()
    left, right, bottom, top = reader.read(start)
    if end - start == 1:
        return Word(match[0], left, right), bottom, top
    last_left, last_right, last_bottom, last_top = reader.read(end - 1)
    characters = match[0]
    if is_right_to_left(characters):
        characters = order_right_to_left(characters, [reader.read(index)[0] for index in range(start, end)])
    elif _POWER.match(characters):
        characters = _mark_exponent(characters, start, reader)
    box = Word(characters, min(left, last_left), max(right, last_right))
    return box, min(bottom, last_bottom), max(top, last_top)


def _mark_exponent(number: str, start: int, reader: _BoxReader) -> str:
    """The number with "^" before digits that are small and raised: "10^6", which would read as 106."""
    _, _, bottom, top = reader.read(start)
    height = top - bottom
    for offset in range(1, len(number)):
        _, _, digit_bottom, digit_top = reader.read(start + offset)
        if digit_top - digit_bottom < _SMALL * height and digit_bottom > bottom + _RAISED * height:
            return f"{number[:offset]}^{number[offset:]}"
    return number


def _piece(run: _Run) -> Piece:
    text = clean(join_words(order_words(run.words)))
    return Piece(text, run.left, run.right, run.bottom, run.top, run.size)
