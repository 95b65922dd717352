"""Joins two lines of a wrapped paragraph: removes the hyphen of a divided word, and the space where none belongs."""

from __future__ import annotations

import re
from collections.abc import Container

# U+2010 hyphen, U+00AD soft hyphen, U+058A Armenian, U+1806 Mongolian, U+1400 Canadian syllabics, U+00AC (put for a
# soft hyphen by text recognition).
_HYPHENS = "-\u2010\u00ad\u058a\u1806\u1400\u00ac"
_SOFT = "\u00ad\u00ac"
_DIVIDED = re.compile(rf"([^\W\d_][^\W_]*(?:[-\u2010][^\W\d_]+)*)[{_HYPHENS}]$")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W\d_]+(?:[-\u2010][^\W\d_]+)+")
_NEXT_WORD = re.compile(r"[^\W\d_]+")
# Dashes without a space on their left have none on their right.
_TIGHT_DASH = re.compile(r"\S[-\u2010-\u2015\u05be/]$")
# Scripts that write no space between words: Thai to Tibetan, Myanmar, Khmer, Chinese, Japanese. Korean writes it.
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff"
)
_ENDS_UNSPACED = re.compile(rf"[{_UNSPACED}]$")
_STARTS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
# First parts of compounds that English writes with a hyphen, and endings that make no second part: "high-ly".
_COMPOUND_STARTS = frozenset("well self cross high low long short half full".split())
_ENDINGS = re.compile(r"(?:ness|est|ish|ly|ings?|ages?|e[rdns]|ers|lier|liest|ened|ening|ed)$")
# Words after a suspended hyphen: "Ein- und Ausgang", "two- or three-fold".
_CONJUNCTIONS = frozenset("und oder bzw sowie and or och eller и или".split())


def join_lines(line: str, following: str, compounds: Container[str] = frozenset()) -> str:
    """`line` continued by `following`; `compounds` are the hyphenated words, in lower case, of the document.

    The hyphen of a divided word goes ("exam-", "ple"). It stays in a compound, before a capital letter, in numbers
    and ranges ("10-", "20"), and before a conjunction ("Ein-", "und Ausgang").
    """
    line, following = line.rstrip(), following.strip()
    divided = _DIVIDED.search(line)
    second = _NEXT_WORD.match(following)
    if divided and second:
        return _join_divided(line, following, divided[1], second[0], compounds)
    if _TIGHT_DASH.search(line) and following[:1].isalnum():
        return line + following
    if _ENDS_UNSPACED.search(line) and _STARTS_UNSPACED.match(following):
        return line + following
    return f"{line} {following}"


def hyphenated_words(text: str) -> set[str]:
    """The words with a hyphen in the middle, in lower case, with "-" as hyphen."""
    return {word.lower().replace("\u2010", "-") for word in _COMPOUND.findall(text)}


def _join_divided(line: str, following: str, first: str, second: str, compounds: Container[str]) -> str:
    if line[-1] in _SOFT:
        return line[:-1] + following
    if second.lower() in _CONJUNCTIONS:
        return f"{line} {following}"
    if not second[0].islower() and second[0].upper() != second[0].lower():
        return line + following  # "Anglo-", "Saxon"
    whole = f"{first}-{second}".lower().replace("\u2010", "-")
    if whole in compounds or (first.lower() in _COMPOUND_STARTS and not _ENDINGS.match(second)):
        return line + following
    return line[:-1] + following
