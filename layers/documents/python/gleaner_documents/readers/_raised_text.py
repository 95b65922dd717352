"""Writes superscripts, subscripts and marks of footnotes in a line of plain text without changing what they say."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*")
# Endings of ordinal numbers and abbreviations: 1st, 2nd, XIXe, 1er, Mme, no, 1ª.
_ENDINGS = frozenset("st nd rd th er re e ère ème eme me mes lle lles o os a as ª º de ste ter".split())
_SIGNS = {"tm": "™", "sm": "℠"}
_KEPT_SIGNS = frozenset("™®©℠°ªº*†‡§′″")
_SIMPLE = re.compile(r"\w+|[-+\u2212]?\d+(?:[.,]\d+)*|\d*[-+]")
# Units and variables are short; a footnote follows a longer word.
_MAX_UNIT_CHARS = 3
_LONG_UNITS = ("metre", "metres", "meter", "meters", "feet", "foot", "inch", "inches", "mile", "miles")
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")
SENTENCE_ENDS = ".,;:!?…。，、；：！？"
_QUOTES = "\"'”’»"
_MAX_CHARS = 24  # longer text that stands higher is a remark, not an exponent


def write_superscript(before: str, text: str) -> str:
    """What stands for the superscript `text` after `before`: "^6" after "10", "th" after "4"."""
    if not before or before[-1].isspace() or len(text) > _MAX_CHARS or text[0] in "[(":
        return text if not before or before[-1].isspace() else f" {text}"
    if text.casefold() in _SIGNS:
        return _SIGNS[text.casefold()]
    if set(text) <= _KEPT_SIGNS or (text.casefold().rstrip(".") in _ENDINGS and before[-1].isalnum()):
        return text
    power = text.replace("\u2212", "-")
    return f"^{power}" if _SIMPLE.fullmatch(power) else f"^({power})"


def write_subscript(before: str, text: str) -> str:
    """What stands for the subscript `text` after `before`: "2" after "H", "_2" after "10"."""
    if not before or before[-1].isspace() or len(text) > _MAX_CHARS:
        return text
    if not re.fullmatch(r"\w+|[-+]", text):
        return f"_({text})"
    return f"_{text}" if before[-1].isdigit() else text


def add_footnote_mark(before: str, text: str) -> str:
    """`before` with the mark of a footnote, which stands before the punctuation that ends the sentence."""
    mark = text if text[0] in "[(" else f"[{text}]"
    text_before = before.rstrip()
    body = text_before.rstrip(SENTENCE_ENDS)
    return f"{body} {mark}{text_before[len(body) :]}" if body else mark


def is_footnote(before: str, text: str) -> bool:
    """Whether the superscript `text` is the number of a footnote rather than an exponent."""
    if not before or not _NUMBERS.fullmatch(text):
        return False
    if before[-1] in SENTENCE_ENDS + _QUOTES:
        return True
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    return len(word[0]) > _MAX_UNIT_CHARS and word[0].casefold() not in _LONG_UNITS
