"""Finds a phrase in a text whatever its form, but numbers only as a whole."""

from __future__ import annotations

import re
import unicodedata

_EMPHASIS = re.compile(r"[*_`]")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2013\u2212", "-") | {"\u2019": "'"})
# Digits in groups of three, on one line: "5 000", with any of the spaces that languages set there.
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}(?!\d))+")
_GROUP_SPACE = re.compile(r"[ \u00a0\u2009\u202f]")
# With its sign, which does not stand behind a word or another dash (2-5, GPT-5), its groups, fraction and exponent.
_NUMBER = re.compile(r"(?:(?<![\w)\]-])-)?\d+(?:'\d{3}(?!\d)|[.,]\d+)*(?:\^[-+]?\d+(?:\u2044\d+)?|\u2044\d+)?")


def fold(text: str) -> str:
    """The text without what does not count: case, width, emphasis, white space, and the kinds of dashes."""
    plain = _EMPHASIS.sub("", unicodedata.normalize("NFKC", _set_apart(_join_groups(text))))
    return " ".join(plain.casefold().translate(_DASHES).split())


def says(text: str, phrase: str) -> bool:
    """Whether `phrase` stands in `text`, whatever their case, width, emphasis and white space.

    A number at an end of the phrase has to be the whole number: "50" is not in "150", "50.5", "50 000" or "-50".
    """
    wanted, shown = fold(phrase), fold(text)
    numbers = [match.span() for match in _NUMBER.finditer(shown)]
    starts, ends = {start for start, _ in numbers}, {end for _, end in numbers}
    first, last = _NUMBER.match(wanted), wanted[-1:].isdecimal()
    position = shown.find(wanted)
    while position >= 0:
        if (first is None or position in starts) and (not last or position + len(wanted) in ends):
            return True
        position = shown.find(wanted, position + 1)
    return False


def _join_groups(text: str) -> str:
    """The spaces in long numbers become an apostrophe, so that "5 000" is one number. 1,234 and 1.234 are one as is."""
    return _GROUPED.sub(lambda match: _GROUP_SPACE.sub("'", match[0]), text)


def _set_apart(text: str) -> str:
    """A mark before what is no plain digit behind one: otherwise its plain form makes 106 of 10⁶, and 51/2 of 5½."""
    letters = []
    before = ""
    for letter in text:
        is_raised = unicodedata.category(letter) == "No" or unicodedata.decomposition(letter).startswith("<super>")
        letters.append(f"^{letter}" if is_raised and before.isdecimal() else letter)
        before = letter
    return "".join(letters)
