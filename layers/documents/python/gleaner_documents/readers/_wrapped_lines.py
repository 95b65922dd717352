"""Joins the lines of a wrapped paragraph, so that a sentence is one line of text."""

from __future__ import annotations

import re

_LIST_ITEM = re.compile(r"[-*+•‣◦–]\s|\(?(\d{1,3}|[a-zA-Z])[.)]\s")
_FULL_SHARE = 0.7  # of the widest line: shorter lines end a paragraph, an item or a row
_MINIMUM_WIDTH = 40  # narrower text is verse, a list or a table, and is left as it is


def join_wrapped_lines(text: str) -> str:
    """`text` with each wrapped paragraph on one line; indented lines, list items and tables stay apart.

    A line runs on when it is nearly as wide as the text; a word cut at its end ("exam-", "ple") is mended.
    """
    lines = text.split("\n")
    widths = sorted(len(line) for line in lines if line.strip())
    width = widths[int(len(widths) * 0.9)] if widths else 0
    if width < _MINIMUM_WIDTH:
        return text
    joined: list[str] = []
    previous = ""
    for line in lines:
        if joined and _runs_on(previous, line, width):
            joined[-1] = _join(joined[-1], line)
        else:
            joined.append(line.rstrip())
        previous = line
    return "\n".join(joined)


def _runs_on(line: str, following: str, width: int) -> bool:
    if not line.strip() or not following.strip() or line[0].isspace() or following[0].isspace():
        return False
    if "|" in line or "\t" in line or _LIST_ITEM.match(following):
        return False
    return len(line) >= width * _FULL_SHARE


def _join(line: str, following: str) -> str:
    if re.search(r"[a-z]-$", line) and following[0].islower():
        return line[:-1] + following.rstrip()
    return f"{line} {following.rstrip()}"
