"""Cuts a passage into sentences that can be quoted by themselves."""

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
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?:[^()\s]|\([^()]*\))+(?:\s+\"[^\"]*\")?\)")
# A mark of an earlier answer names a passage of that query, and means nothing in this one.
_SOURCE_MARK = re.compile(r"\s?\[(?:kb|web)-\d+\]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One quotable sentence, list item or table row. `heading` is the nearest heading above it, or empty."""

    text: str
    heading: str = ""


def split_passage(text: str) -> list[Sentence]:
    """The sentences of a passage of plain text or Markdown, in order.

    Code blocks and images are left out, links keep their text, a table row becomes `column: cell; column: cell`.
    """
    found = []
    for block, heading in _blocks(text):
        parts = _whole_code(split_sentences(_plain(block)))
        found += [Sentence(part, heading) for part in parts if re.search(r"\w", part)]
    return found


def without_source_marks(text: str) -> str:
    """`text` without marks such as `[kb-2]`."""
    return _SOURCE_MARK.sub("", text)


def _whole_code(parts: list[str]) -> list[str]:
    """Parts joined again where a border fell into `inline code`."""
    whole: list[str] = []
    for part in parts:
        if whole and whole[-1].count("`") % 2:
            whole[-1] = f"{whole[-1]} {part}"
        else:
            whole.append(part)
    return whole


def _plain(block: str) -> str:
    return _LINK.sub(lambda link: link["text"], _IMAGE.sub("", block))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs, list items and table rows, each with the heading it stands under."""
    heading = ""
    paragraph: list[str] = []
    columns: list[str] = []
    fenced = False
    lines = [*text.splitlines(), ""]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
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
            if _TABLE_RULE.match(after):
                columns = cells
            elif not _TABLE_RULE.match(line):
                yield _row_text(columns, cells), heading
        elif not ends and not fenced:
            paragraph.append(_QUOTE.sub("", line).strip())


def _row_text(columns: list[str], cells: list[str]) -> str:
    named = zip_longest(columns, cells, fillvalue="")
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)
