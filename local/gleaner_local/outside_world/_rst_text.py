"""Converts reStructuredText to sections of plain sentences, with the few rules that descriptions need."""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+:.<>_])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\.(?:\s|$)")
_FIELD = re.compile(r"^\s*:[\w -]+:(?:\s|$)")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#\.)\s+")
_TABLE = re.compile(r"^\s*(?:\+[-=+]+\+|\|.*\||=+(?:\s+=+)+)\s*$")
_INLINE = (
    (re.compile(r"\|[\w .-]+\|_{0,2}"), ""),  # substitution, nearly always a badge
    (re.compile(r":[\w:.-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`"), r"\1"),  # role
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{1,2}"), r"\1"),  # link with its target
    (re.compile(r"``([^`]+)``"), "`\\1`"),
    (re.compile(r"(?<![`\w])`([^`]+)`_{1,2}"), r"\1"),  # reference
    (re.compile(r"\b([\w-]+)_{1,2}(?=[\s.,;:)]|$)"), r"\1"),
    (re.compile(r"\*{1,2}([^*\s][^*]*)\*{1,2}"), r"\1"),
)


def rst_sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of every section in order; paragraphs and list items are separated by blank lines."""
    heading = ""
    lines: list[str] = []
    for kind, content in _split_blocks(text):
        if kind == "heading":
            if lines:
                yield heading, "\n\n".join(lines)
            heading, lines = content, []
        else:
            lines.append(content)
    if lines:
        yield heading, "\n\n".join(lines)


def _split_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield headings and paragraphs, without directives, literal blocks, fields and tables."""
    paragraph: list[str] = []
    skip_deeper_than: int | None = None
    lines = text.expandtabs().splitlines()
    for number, line in enumerate([*lines, ""]):
        indent = len(line) - len(line.lstrip())
        if skip_deeper_than is not None:
            if not line.strip() or indent > skip_deeper_than:
                continue
            skip_deeper_than = None
        next_line = lines[number + 1] if number + 1 < len(lines) else ""
        is_title = bool(line.strip()) and bool(_UNDERLINE.match(next_line)) and not paragraph and indent == 0
        is_markup = bool(_UNDERLINE.match(line) or _DIRECTIVE.match(line) or _FIELD.match(line) or _TABLE.match(line))
        if paragraph and (not line.strip() or is_title or is_markup or _ITEM.match(line)):
            literal = paragraph[-1].endswith("::")
            yield from _paragraph(paragraph)
            paragraph = []
            if literal and not line.strip():
                skip_deeper_than = _indent_before(lines, number)
                continue
        if is_title:
            yield "heading", _plain(line)
        elif _DIRECTIVE.match(line):
            skip_deeper_than = indent
        elif line.strip() and not is_markup and not line.lstrip().startswith(">>>"):
            paragraph.append(_ITEM.sub("", line).strip())


def _indent_before(lines: list[str], number: int) -> int:
    """The indentation of the last non-blank line before `number`."""
    line = next(line for line in reversed(lines[:number]) if line.strip())
    return len(line) - len(line.lstrip())


def _paragraph(lines: list[str]) -> Iterator[tuple[str, str]]:
    text = _plain(" ".join(lines))
    if re.search(r"\w", text):
        yield "paragraph", text


def _plain(text: str) -> str:
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(re.sub(r"::$", ":", text.strip()).split())
