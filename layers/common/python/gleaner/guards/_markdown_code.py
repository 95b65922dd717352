"""Finds the text that is code in every reading of Markdown.

Readers disagree about code: an indented fence may belong to a list, be part of a paragraph or follow a quote. So a
piece counts as code only if each of these readings makes it code. From the first fence that is open to doubt, no
fence counts any more. docs/decisions/0016-judging-answers.md explains why no parser decides this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A fence that all readers of fences recognize: after spaces or quote marks, with at most one word after it.
_FENCE = re.compile(r"(?P<prefix>[ >]*)(?P<marks>`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*$")
_FENCE_BEGINS = re.compile(r"[ >]*[`~]")
# A fence in some reading: after bullets, numbers, check boxes and the like, with anything but backticks after it.
_DOUBTFUL_FENCE = re.compile(r"[^\w`~]*(?:\w{1,9}[.)][^\w`~]*)*(?:`{3,}[^`]*$|~{3,})")
_INDENT_IN_PARAGRAPH = 4  # characters before a fence that may be text of a paragraph
_RUN = re.compile(r"`+")
_TABLE_RULE = re.compile(r"^(?=[^\n]*-)(?=[^\n]*\|)[\s>|:-]+$", re.MULTILINE)
# To a URL before it, readers attach the backticks; to a bracket before it, some attach the bracket in the code.
_URL_BEFORE = re.compile(r"(?:[:/@]|www\.)\S*$", re.IGNORECASE)
_MAX_URL = 2_000  # characters before inline code that are searched for a URL
_BRACKET_FIRST = re.compile(r"[^\[\]]*\][:(\[]")
_SHIELD = re.compile("\x00(\\d+)\x00")

_Span = tuple[int, int]


def shield_code(text: str) -> tuple[str, list[str]]:
    """Replace each piece of code with a placeholder; return the new text and the pieces.

    `text` must not contain NUL characters. Takes linear time. Inline code lies within one line and ends at the first
    unpaired backtick of a paragraph.
    """
    parts: list[str] = []
    pieces: list[str] = []
    end = 0
    for start, stop in find_code(text):
        parts += [text[end:start], f"\x00{len(pieces)}\x00"]
        pieces.append(text[start:stop])
        end = stop
    return "".join((*parts, text[end:])), pieces


def unshield_code(text: str, pieces: Sequence[str]) -> str:
    """Replace the placeholders with the pieces of code."""
    return _SHIELD.sub(lambda placeholder: pieces[int(placeholder[1])], text)


def find_code(text: str) -> Iterator[_Span]:
    """Yield the spans of code, in order."""
    if "`" not in text and "~~~" not in text:  # as in nearly all answers
        return
    has_table = _TABLE_RULE.search(text) is not None
    for block in _read_blocks(text.split("\n")):
        # Readers split tables into cells before they look for code.
        if block.is_fenced or not (has_table and _has_bar(text, block.code)):
            yield from block.code


def find_open_code(text: str) -> int:
    """The position from which on more text may decide what is code; the length of `text` if all is decided.

    The last line may go on, a fence may be closed, and a table may come that breaks the code in every cell.
    """
    lines = text.split("\n")
    rule = _TABLE_RULE.search(text[: len(text) - len(lines[-1])])
    for block in _read_blocks(lines):
        is_last = block.end >= len(text)
        if block.is_fenced:
            if is_last:  # the closing fence may go on
                return block.start
        elif block.may_open_fence and (is_last or _may_be_closed(lines, block.number)):
            return block.start
        elif is_last:
            end = block.code[-1][1] if block.code else block.start
            if end == len(text) and block.code:
                return block.code[-1][0]
            backtick = text.find("`", end) if block.is_paired_before else -1
            return backtick if backtick >= 0 else len(text)
        elif _has_bar(text, block.code) and not (rule and rule.end() <= block.start):
            return block.code[0][0]
    return len(text)


def _has_bar(text: str, code: Sequence[_Span]) -> bool:
    return any("|" in text[first:last] for first, last in code)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """A fenced block, or a line of other text with its inline code."""

    number: int  # of its first line
    start: int
    end: int  # of its last line, without the line end
    code: Sequence[_Span]
    is_fenced: bool = False
    may_open_fence: bool = False
    is_paired_before: bool = True  # all backticks of the paragraph before this line are paired


def _read_blocks(lines: Sequence[str]) -> Iterator[_Block]:
    number = start = 0
    paired = True  # all backticks of the paragraph so far are paired
    in_doubt = False  # some reader may be inside a fence
    while number < len(lines):
        line = lines[number]
        length = 0 if in_doubt else _count_fenced_lines(lines, number)
        if length:
            stop = start + sum(len(inner) + 1 for inner in lines[number : number + length]) - 1
            yield _Block(number=number, start=start, end=stop, code=((start, stop),), is_fenced=True)
            paired = True
            number, start = number + length, stop + 1
            continue
        may_open_fence = not in_doubt and _FENCE_BEGINS.match(line) is not None
        in_doubt = in_doubt or _DOUBTFUL_FENCE.match(line) is not None
        spans: list[_Span] = []
        was_paired = paired
        if not line.strip():
            paired = True
        elif paired:
            spans, paired = _find_inline_code(line)
        yield _Block(
            number=number,
            start=start,
            end=start + len(line),
            code=[(start + first, start + last) for first, last in spans],
            may_open_fence=may_open_fence,
            is_paired_before=was_paired,
        )
        number, start = number + 1, start + len(line) + 1


def _count_fenced_lines(lines: Sequence[str], first: int) -> int:
    """Count the lines of the fenced block that starts at line `first`; 0 if it is none in some reading."""
    fence = _FENCE.match(lines[first])
    if not fence or (fence["prefix"] and fence["marks"][0] == "~"):
        return 0
    prefix, marks = fence["prefix"], fence["marks"]
    # Such a fence may be text of the paragraph above it: then its backticks are paired with the next ones of the
    # same length, and a blank line ends it.
    in_paragraph = len(prefix) >= _INDENT_IN_PARAGRAPH and first > 0 and lines[first - 1].strip(" \t>") != ""
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if line.rstrip(" \t") == prefix + marks:
            return number - first + 1
        if _may_end(line, prefix, marks) or (in_paragraph and (not line.strip() or "|" in line)):
            return 0
    return 0


def _may_be_closed(lines: Sequence[str], first: int) -> bool:
    """Return whether the last line, once it is whole, may close the fence of line `first`."""
    fence = _FENCE.match(lines[first])
    if not fence:
        return False
    return _count_fenced_lines([*lines[:-1], fence["prefix"] + fence["marks"]], first) > 0


def _may_end(line: str, prefix: str, marks: str) -> bool:
    """Return whether some reader ends a block at `line`, which does not end with its own fence."""
    blank = not line.strip(" \t>")
    if not line.startswith(prefix.rstrip() if blank and ">" in prefix else "" if blank else prefix):
        return True
    inner = line.strip(" \t>")
    if inner.startswith(marks) and not inner.strip(marks[0]):
        return True
    return bool(prefix) and any(run == marks for run in _RUN.findall(line))


def _find_inline_code(line: str) -> tuple[list[_Span], bool]:
    """Return the spans of inline code (CommonMark 0.31, section 6.1), and whether all backticks are paired."""
    runs = list(_RUN.finditer(line))
    partners: dict[int, list[int]] = {}  # indexes of the runs of each length, last one first
    for index in range(len(runs) - 1, -1, -1):
        partners.setdefault(len(runs[index][0]), []).append(index)
    spans: list[_Span] = []
    index = end = 0
    while index < len(runs):
        opening = runs[index]
        candidates = partners[len(opening[0])]
        while candidates and candidates[-1] <= index:
            candidates.pop()
        before = line[max(end, opening.start() - _MAX_URL) : opening.start()]
        if not candidates or before.endswith("\\") or _URL_BEFORE.search(before):
            return spans, False
        end = runs[candidates[-1]].end()
        if _BRACKET_FIRST.match(line, opening.end(), end):
            return spans, False
        spans.append((opening.start(), end))
        index = candidates[-1] + 1
    return spans, True
