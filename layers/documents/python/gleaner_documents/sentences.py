"""Finds where sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The end of a sentence: its punctuation, closing quotes or brackets, white space. In Chinese and Japanese no
# space follows. A line break ends a sentence too: readers join wrapped lines, so it separates items or rows. A run of
# punctuation is tried only from its start, so that matching takes linear time.
_END = re.compile(r"(?:(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』）]*)[^\S\n]*\n?|\n")
# A full stop after one of these belongs to the word.
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|al|approx|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|Nos|Fig|Figs|Eq|Eqs|Sec|Ch|Vol"
    r"|pp?|ed|eds|Inc|Ltd|Co|Corp|U\.S|U\.K|a\.m|p\.m))\.$"
)


def sentence_slices(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it; joined, they equal `text`."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if not match.group().endswith("\n") and _continues_after(text, start, match):
            continue
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, without surrounding white space; a line break ends a sentence."""
    return [sentence.strip() for sentence in sentence_slices(text) if sentence.strip()]


def _continues_after(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 1]
    if following.islower():  # "approx. three", "Yahoo! is"
        return True
    before = text[max(start, match.start() - 12) : match.start() + 1]
    return match.group().rstrip() == "." and bool(_ABBREVIATION.search(before))
