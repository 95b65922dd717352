"""Converts Markdown to sections of plain sentences: no badges, images, link targets, code blocks or tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")
_ALERT = re.compile(r"^\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$|^\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)+$", re.MULTILINE)


def markdown_sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of every section in order; paragraphs and list items are separated by blank lines."""
    heading = ""
    lines: list[str] = []
    in_heading = False
    for token in _PARSER.parse(_TABLE_ROW.sub("", text)):
        if token.type == "heading_open":
            if lines:
                yield heading, "\n\n".join(lines)
            heading, lines, in_heading = "", [], True
        elif token.type == "heading_close":
            in_heading = False
        elif token.type == "inline":
            plain = _ALERT.sub("", " ".join(_inline(token.children or ()).split()))
            if in_heading:
                heading = plain
            elif plain:
                lines.append(plain)
        elif token.type == "html_block":
            lines += _html_lines(token.content)
    if lines:
        yield heading, "\n\n".join(lines)


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type == "text":
            parts.append(token.content)
        elif token.type == "code_inline":
            parts.append(f"`{token.content}`")
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return "".join(parts)


def _html_lines(html: str) -> list[str]:
    """The text of an HTML block, one line per element; images have no text."""
    text = BeautifulSoup(html, "html.parser").get_text("\n")
    return [" ".join(line.split()) for line in text.splitlines() if len(line.split()) > 1]
