"""Marks in the text of a stored web answer, which name its pages by their numbers."""

from __future__ import annotations

import re

_MARK = re.compile(r"\s?\[\d+\]")


def remove_marks(answer: str) -> str:
    """The text without the marks, because the numbers of another answer name other pages."""
    return _MARK.sub("", answer)
