"""Where Markdown text is code, told in such a way that no reader of Markdown can see less of it as code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# A fence as in CommonMark 0.31, section 4.5; one of tildes is taken for text, which is the safe side.
_FENCE = re.compile(r"( *)(`{3,})[^`]*$")
_CLOSING_INDENT = 3  # spaces that may stand before a closing fence
_RUN = re.compile(r"`+")
_TABLE_RULE = re.compile(r"^(?=[^\n]*-)(?=[^\n]*\|)[\s>|:-]+$", re.MULTILINE)
_SHIELD = re.compile("\x00(\\d+)\x00")

_Span = tuple[int, int]


def shielded(text: str) -> tuple[str, list[str]]:
    """`text` with each piece of code replaced by a placeholder, and the pieces.

    `text` holds no NUL character. Only what is code for every reader is taken for code: a reader that pairs
    backticks otherwise would show as a link what was left alone as code. So inline code lies within one line, and
    is not looked for behind an unpaired backtick of the same paragraph.
    """
    parts: list[str] = []
    pieces: list[str] = []
    end = 0
    for start, stop in _code(text):
        parts += [text[end:start], f"\x00{len(pieces)}\x00"]
        pieces.append(text[start:stop])
        end = stop
    return "".join((*parts, text[end:])), pieces


def unshielded(text: str, pieces: Sequence[str]) -> str:
    """`text` with the pieces of code in their places."""
    return _SHIELD.sub(lambda place: pieces[int(place[1])], text)


def _code(text: str) -> Iterator[_Span]:
    """The places of code, in order."""
    lines = text.split("\n")
    has_table = _TABLE_RULE.search(text) is not None
    number = start = 0
    paired = True  # every backtick of the paragraph so far has its partner
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        length = _fenced_lines(lines, number, fence) if fence else 0
        if length:
            stop = start + sum(len(inner) + 1 for inner in lines[number : number + length]) - 1
            yield start, stop
            paired = True
            number, start = number + length, stop + 1
            continue
        if not line.strip():
            paired = True
        elif paired:
            spans, paired = _inline(line)
            # A table is cut into cells before code is looked for.
            if not (has_table and any("|" in line[first:last] for first, last in spans)):
                yield from ((start + first, start + last) for first, last in spans)
        number, start = number + 1, start + len(line) + 1


def _fenced_lines(lines: Sequence[str], first: int, fence: re.Match[str]) -> int:
    """How many lines the fenced block has that begins at line `first`; 0 when it might be none.

    An indented fence may belong to a list item, which ends at a line that is indented less, or be no fence at
    all but the text of a paragraph; then its marks are paired when they are of one length.
    """
    indent, marks = len(fence[1]), fence[2]
    for place in range(first + 1, len(lines)):
        line = lines[place]
        stripped = line.strip(" \t")
        leading = len(line) - len(line.lstrip(" "))
        if indent and stripped and leading < indent:
            return 0
        if stripped.strip("`") or len(stripped) < len(marks) or leading > indent + _CLOSING_INDENT:
            continue
        same = stripped == marks and leading == indent
        return place - first + 1 if same or not indent else 0
    return 0 if indent else len(lines) - first


def _inline(line: str) -> tuple[list[_Span], bool]:
    """The places of inline code in a line (CommonMark 0.31, section 6.1), and whether all backticks are paired."""
    runs = list(_RUN.finditer(line))
    partners: dict[int, list[int]] = {}  # places of the runs of each length, the last one first
    for place in range(len(runs) - 1, -1, -1):
        partners.setdefault(len(runs[place][0]), []).append(place)
    spans: list[_Span] = []
    place = 0
    while place < len(runs):
        opening = runs[place]
        candidates = partners[len(opening[0])]
        while candidates and candidates[-1] <= place:
            candidates.pop()
        escaped = line[: opening.start()].endswith("\\")
        if escaped or not candidates:
            return spans, False
        spans.append((opening.start(), runs[candidates[-1]].end()))
        place = candidates[-1] + 1
    return spans, True
