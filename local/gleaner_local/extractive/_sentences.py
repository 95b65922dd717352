"""Splits a passage into sentences that can be quoted on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from gleaner_documents.sentences import split_sentences

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?P<text>.+?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<text>.+)$")
_QUOTE = re.compile(r"^\s*>\s?")
_RULE = re.compile(r"^\s*(?:[-*_=~]\s*){3,}$")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_OPEN_LINK = re.compile(r"\[[^\[\]]*$")
_CLOSES_LINK = re.compile(r"[^\[\]]*\]\(")
# A mark in an earlier answer refers to a passage of that query, and means nothing in this one.
_SOURCE_MARK = re.compile(r"\s?\[(?:kb|web)-\d+\]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One quotable sentence, list item or table row. `heading` is the nearest heading above it, or empty."""

    text: str
    heading: str = ""


def split_passage(text: str) -> list[Sentence]:
    """The sentences of a passage of plain text or Markdown, in order.

    Code blocks and images are left out, a table row becomes `column: cell; column: cell`.
    """
    sentences = []
    for block, heading in _split_blocks(text):
        parts = _rejoin(split_sentences(_IMAGE.sub("", block)))
        sentences += [Sentence(part, heading) for part in parts if re.search(r"\w", part)]
    return sentences


def without_source_marks(text: str) -> str:
    """Remove marks such as `[kb-2]` from `text`."""
    return _SOURCE_MARK.sub("", text)


def _rejoin(parts: list[str]) -> list[str]:
    """Join parts again where a split fell into `inline code` or the words of a link."""
    sentences: list[str] = []
    for part in parts:
        if sentences and (sentences[-1].count("`") % 2 or _falls_into_link(sentences[-1], part)):
            sentences[-1] = f"{sentences[-1]} {part}"
        else:
            sentences.append(part)
    return sentences


def _falls_into_link(before: str, after: str) -> bool:
    return bool(_OPEN_LINK.search(before) and _CLOSES_LINK.match(after))


def _split_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield paragraphs, list items and table rows, each with the heading above it."""
    heading = ""
    paragraph: list[str] = []
    columns: list[str] = []
    fenced = False
    lines = [*text.splitlines(), ""]
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        fence = bool(_FENCE.match(line))
        title = None if fenced else _HEADING.match(line)
        item = None if fenced or title else _ITEM.match(line)
        row = not fenced and bool(_TABLE_ROW.match(line))
        ends = fence or title or item or row or not line.strip() or _RULE.match(line)
        if paragraph and ends:
            yield " ".join(paragraph), heading
            paragraph = []
        if fence:
            fenced = not fenced
        if not row:
            columns = []
        if title:
            heading = title["text"]
        elif item:
            paragraph = [item["text"]]
        elif row:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if _TABLE_RULE.match(next_line):
                columns = cells
            elif not _TABLE_RULE.match(line):
                yield _row_text(columns, cells), heading
        elif not ends and not fenced:
            paragraph.append(_QUOTE.sub("", line).strip())


def _row_text(columns: list[str], cells: list[str]) -> str:
    pairs = zip_longest(columns, cells, fillvalue="")
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in pairs if cell)
