"""Puts the characters and words of a line in a PDF into the order and form in which people write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# Ligatures and the forms that Arabic and Hebrew letters take in a font: no one types them in a question.
_FONT_FORMS = re.compile("[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufdff\ufe70-\ufefc]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufff0-\ufffb\uffff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_MIN_SPACED_LETTERS = 4


class Word(NamedTuple):
    """Characters without white space, and where they begin and end on the line."""

    text: str
    left: float
    right: float


def is_right_to_left(text: str) -> bool:
    """Whether `text` holds Arabic, Hebrew or another script that is written from the right."""
    return bool(_RIGHT_TO_LEFT.search(text))


def order_right_to_left(text: str, lefts: Sequence[float]) -> str:
    """The characters of a word, which stand at `lefts`, in reading order.

    A file may hold them from the left or from the right, and PDFium turns either around. Characters at one place are
    one glyph, such as lam-alef, and PDFium has turned these around as well.
    """
    glyphs = [
        (left, "".join(text[index] for index in group)[::-1])
        for left, group in groupby(range(len(text)), key=lambda index: lefts[index])
    ]
    bases = [left for left, glyph in glyphs if not unicodedata.combining(glyph[0])]
    if bases == sorted(bases, reverse=True):  # where marks stand says nothing about their order
        return "".join(glyph for _, glyph in glyphs)
    ordered = sorted(glyphs, key=lambda glyph: -glyph[0])
    return "".join(_turn_back([glyph for _, glyph in ordered]))


def order_words(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a line in reading order; they are in it unless the line is written from the right."""
    right_to_left = sum(len(word.text) for word in words if is_right_to_left(word.text))
    if 2 * right_to_left < sum(len(word.text) for word in words):
        return words
    ordered = sorted(words, key=lambda word: -word.right)
    result: list[Word] = []
    for is_right, group in groupby(ordered, key=lambda word: is_right_to_left(word.text)):
        members = list(group)
        result += members if is_right or len(members) == 1 else members[::-1]
    return result


def join_words(words: Sequence[Word]) -> str:
    """The words with spaces; letters that are set wide apart ("C H A P T E R") become words again by their gaps."""
    if len(words) < _MIN_SPACED_LETTERS or sum(len(word.text) == 1 for word in words) < 0.8 * len(words):
        return " ".join(word.text for word in words)
    gaps = [following.left - word.right for word, following in pairwise(words)]
    letter_gap = sorted(gaps)[len(gaps) // 2]
    parts = [words[0].text]
    for gap, word in zip(gaps, words[1:], strict=True):
        parts.append((" " if gap > 1.5 * max(letter_gap, 0.5) else "") + word.text)
    return "".join(parts)


def clean(text: str) -> str:
    """Without font forms and characters that are no text; a hyphen at the end of a line is "-"."""
    text = _SURROGATE_PAIR.sub(_join_pair, text.replace("\x02", "-"))
    return _NOT_TEXT.sub("", _FONT_FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), text)).strip()


def _join_pair(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _turn_back(glyphs: list[str]) -> list[str]:
    """Numbers and Latin letters within the word, which are written from the left, back in their order."""
    result: list[str] = []
    for is_left, group in groupby(glyphs, key=_is_left_to_right):
        members = list(group)
        result += members[::-1] if is_left else members
    return result


def _is_left_to_right(glyph: str) -> bool:
    return bool(_LETTER_OR_DIGIT.search(glyph)) and (
        not is_right_to_left(glyph) or unicodedata.category(glyph[0]) == "Nd"
    )
