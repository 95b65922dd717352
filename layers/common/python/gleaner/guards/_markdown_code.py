"""Finds the code in Markdown text, conservatively: every Markdown reader treats all of it as code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# A fence as in CommonMark 0.31, section 4.5. Fences of tildes count as text, which is the safe side.
_FENCE = re.compile(r"( *)(`{3,})[^`]*$")
_MAX_CLOSING_INDENT = 3  # spaces before a closing fence
_RUN = re.compile(r"`+")
_TABLE_RULE = re.compile(r"^(?=[^\n]*-)(?=[^\n]*\|)[\s>|:-]+$", re.MULTILINE)
_SHIELD = re.compile("\x00(\\d+)\x00")

_Span = tuple[int, int]


def shield_code(text: str) -> tuple[str, list[str]]:
    """Replace each piece of code with a placeholder; return the new text and the pieces.

    `text` must not contain NUL characters. Only what every reader treats as code counts: a reader that pairs
    backticks differently would show a link where this function found code. So inline code lies within one line
    and ends at the first unpaired backtick of a paragraph.
    """
    parts: list[str] = []
    pieces: list[str] = []
    end = 0
    for start, stop in _find_code(text):
        parts += [text[end:start], f"\x00{len(pieces)}\x00"]
        pieces.append(text[start:stop])
        end = stop
    return "".join((*parts, text[end:])), pieces


def unshield_code(text: str, pieces: Sequence[str]) -> str:
    """Replace the placeholders with the pieces of code."""
    return _SHIELD.sub(lambda placeholder: pieces[int(placeholder[1])], text)


def _find_code(text: str) -> Iterator[_Span]:
    """Yield the spans of code, in order."""
    lines = text.split("\n")
    has_table = _TABLE_RULE.search(text) is not None
    number = start = 0
    paired = True  # all backticks of the paragraph so far are paired
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        length = _count_fenced_lines(lines, number, fence) if fence else 0
        if length:
            stop = start + sum(len(inner) + 1 for inner in lines[number : number + length]) - 1
            yield start, stop
            paired = True
            number, start = number + length, stop + 1
            continue
        if not line.strip():
            paired = True
        elif paired:
            spans, paired = _find_inline_code(line)
            # Readers split tables into cells before they look for code.
            if not (has_table and any("|" in line[first:last] for first, last in spans)):
                yield from ((start + first, start + last) for first, last in spans)
        number, start = number + 1, start + len(line) + 1


def _count_fenced_lines(lines: Sequence[str], first: int, fence: re.Match[str]) -> int:
    """Count the lines of the fenced block that starts at line `first`; 0 if it might not be one.

    An indented fence may belong to a list item, which ends at a line that is indented less. Or it may be text of a
    paragraph, whose backticks are paired if they are of the same length.
    """
    indent, marks = len(fence[1]), fence[2]
    for number in range(first + 1, len(lines)):
        line = lines[number]
        stripped = line.strip(" \t")
        leading = len(line) - len(line.lstrip(" "))
        if indent and stripped and leading < indent:
            return 0
        if stripped.strip("`") or len(stripped) < len(marks) or leading > indent + _MAX_CLOSING_INDENT:
            continue
        same = stripped == marks and leading == indent
        return number - first + 1 if same or not indent else 0
    return 0 if indent else len(lines) - first


def _find_inline_code(line: str) -> tuple[list[_Span], bool]:
    """Return the spans of inline code (CommonMark 0.31, section 6.1), and whether all backticks are paired."""
    runs = list(_RUN.finditer(line))
    partners: dict[int, list[int]] = {}  # indexes of the runs of each length, last one first
    for index in range(len(runs) - 1, -1, -1):
        partners.setdefault(len(runs[index][0]), []).append(index)
    spans: list[_Span] = []
    index = 0
    while index < len(runs):
        opening = runs[index]
        candidates = partners[len(opening[0])]
        while candidates and candidates[-1] <= index:
            candidates.pop()
        escaped = line[: opening.start()].endswith("\\")
        if escaped or not candidates:
            return spans, False
        spans.append((opening.start(), runs[candidates[-1]].end()))
        index = candidates[-1] + 1
    return spans, True
