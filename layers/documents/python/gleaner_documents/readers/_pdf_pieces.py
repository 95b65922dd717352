"""Reads the text of a PDF page as pieces: runs of characters of one line without a wide gap, with their place."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

# A gap of this share of the line's height separates pieces: columns, cells, or a heading's number and its text.
_WIDE_GAP = 0.9
_LINE_BREAKS = (10, 13)
# pdfium gives these for a hyphen at the end of a line, whichever character it was.
_LINE_END_HYPHENS = "\x02\ufffe"
# Ligatures and the forms that Arabic letters take in a font: no one types them in a question.
_FONT_FORMS = re.compile("[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufdff\ufe70-\ufefc]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufff0-\ufffd\uffff]")
_MIN_SPACED_LETTERS = 4
_QUARTER_TURN = math.pi / 2


@dataclass(slots=True)
class Piece:
    """Text and its box in points; x grows to the right and y upwards as the text is read, whatever the page's turn."""

    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(slots=True)
class _Run:
    """Characters that become a piece, and the box around them."""

    characters: list[str]
    gaps: list[float]  # before each character
    left: float
    right: float
    bottom: float
    top: float


def read_pieces(page: pdfium.PdfPage) -> tuple[list[Piece], int]:
    """The pieces of the page in the order of the file, and how many quarter turns the text is turned to the left."""
    text_page = page.get_textpage()
    try:
        runs, turns = _read_runs(text_page)
        pieces = [_piece(run) for run in runs]
    finally:
        text_page.close()
    return [piece for piece in pieces if piece.text and piece.height > 0], turns


def turn(x: float, y: float, turns: int) -> tuple[float, float]:
    """The point as it lies when text that is turned to the left by `turns` quarters stands upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turns]


def _read_runs(text_page: pdfium.PdfTextPage) -> tuple[list[_Run], int]:
    count = max(0, text_page.count_chars())
    turns = _main_turns(text_page, count)
    box = pdfium_c.FS_RECTF()
    runs: list[_Run] = []
    run: _Run | None = None
    space = False
    for index in range(count):
        code = pdfium_c.FPDFText_GetUnicode(text_page, index)
        if code in _LINE_BREAKS:
            run, space = None, False
            continue
        character = chr(code)
        if character.isspace():
            space = True
            continue
        if not pdfium_c.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(box)):
            continue
        x1, y1 = turn(box.left, box.bottom, turns)
        x2, y2 = turn(box.right, box.top, turns)
        place = (min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2))
        if run is not None and _belongs(run, *place):
            _extend(run, character, place, space=space)
        else:
            run = _Run([character], [0.0], *place)
            runs.append(run)
        if character in _LINE_END_HYPHENS:
            run = None
        space = False
    return runs, turns


def _main_turns(text_page: pdfium.PdfTextPage, count: int) -> int:
    """How most of the text is turned; a sample suffices."""
    step = max(1, count // 200)
    angles = (pdfium_c.FPDFText_GetCharAngle(text_page, index) for index in range(0, count, step))
    turns = Counter(round(angle / _QUARTER_TURN) % 4 for angle in angles if angle >= 0)
    return turns.most_common(1)[0][0] if turns else 0


def _belongs(run: _Run, left: float, right: float, bottom: float, top: float) -> bool:
    height = max(run.top - run.bottom, top - bottom)
    gap = max(left - run.right, run.left - right)  # to the right, or to the left in Arabic and Hebrew
    overlap = min(top, run.top) - max(bottom, run.bottom)
    return gap <= _WIDE_GAP * height and overlap >= 0.3 * min(top - bottom, run.top - run.bottom)


def _extend(run: _Run, character: str, place: tuple[float, float, float, float], *, space: bool) -> None:
    left, right, bottom, top = place
    gap = max(0.0, left - run.right, run.left - right)
    if space:
        run.characters.append(" ")
        run.gaps.append(gap)
    run.characters.append(character)
    run.gaps.append(0.0 if space else gap)
    run.left, run.right = min(run.left, left), max(run.right, right)
    run.bottom, run.top = min(run.bottom, bottom), max(run.top, top)


def _piece(run: _Run) -> Piece:
    text = "".join(_close_up(run.characters, run.gaps))
    for hyphen in _LINE_END_HYPHENS:
        text = text.replace(hyphen, "-")
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs where wide characters have 16 bits
    text = _NOT_TEXT.sub("", _FONT_FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), text))
    return Piece(text.strip(), run.left, run.right, run.bottom, run.top)


def _close_up(characters: list[str], gaps: list[float]) -> Iterator[str]:
    """Without the spaces in a word that is set with wide letter spacing ("C H A P T E R"), where the gap shows it."""
    words = "".join(characters).split(" ")
    if len(words) < _MIN_SPACED_LETTERS or sum(len(word) == 1 for word in words) < 0.8 * len(words):
        yield from characters
        return
    spaces = sorted(gap for character, gap in zip(characters, gaps, strict=True) if character == " ")
    word_gap = 1.5 * spaces[len(spaces) // 2]
    for character, gap in zip(characters, gaps, strict=True):
        if character != " " or gap > word_gap:
            yield character
