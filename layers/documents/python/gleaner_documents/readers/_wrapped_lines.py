"""Joins the lines of a wrapped paragraph so that no sentence is split across lines."""

from __future__ import annotations

import re

from gleaner_documents.readers._hyphenation import hyphenated_words, join_lines

_LIST_ITEM = re.compile(r"[-*+•‣◦–]\s|\(?(\d{1,3}|[a-zA-Z])[.)]\s")
_MIN_FULL_SHARE = 0.7  # a line below this share of the text width ends a paragraph, an item or a row
_MIN_WIDTH = 40  # narrower text is verse, a list or a table and is left as it is


def join_wrapped_lines(text: str) -> str:
    """`text` with each wrapped paragraph on one line; indented lines, list items and tables stay separate.

    A line continues on the next one if it is nearly as wide as the text. A word hyphenated at the end of a line
    ("exam-", "ple") is rejoined.
    """
    lines = text.split("\n")
    widths = sorted(len(line) for line in lines if line.strip())
    width = widths[int(len(widths) * 0.9)] if widths else 0
    if width < _MIN_WIDTH:
        return text
    compounds = hyphenated_words(text)
    joined: list[str] = []
    previous = ""
    for line in lines:
        if joined and _continues(previous, line, width):
            joined[-1] = join_lines(joined[-1], line, compounds)
        else:
            joined.append(line.rstrip())
        previous = line
    return "\n".join(joined)


def _continues(line: str, following: str, width: int) -> bool:
    if not line.strip() or not following.strip() or line[0].isspace() or following[0].isspace():
        return False
    if "|" in line or "\t" in line or _LIST_ITEM.match(following):
        return False
    return len(line) >= width * _MIN_FULL_SHARE
