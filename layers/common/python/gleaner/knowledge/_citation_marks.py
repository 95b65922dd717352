"""Marks in the text of a stored web answer, which name its pages by their numbers."""

from __future__ import annotations

import re

_MARK = re.compile(r"\s?\[\d+\]")
_NUMBER = re.compile(r"\[(\d{1,3})\]")


def remove_marks(answer: str) -> str:
    """The text without the marks, because the numbers of another answer name other pages."""
    return _MARK.sub("", answer)


def find_numbers(sentence: str) -> list[int]:
    """The numbers in the marks of a sentence, in their order."""
    return [int(number) for number in _NUMBER.findall(sentence)]
