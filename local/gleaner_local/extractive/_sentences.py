"""Splits a passage into sentences that can be quoted on their own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gleaner.sentences import split_sentences
from gleaner_local.extractive._passage_blocks import Block, split_blocks

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_OPEN_LINK = re.compile(r"\[[^\[\]]*$")
_CLOSES_LINK = re.compile(r"[^\[\]]*\]\(")
# A mark in an earlier answer refers to a passage of that query, and means nothing in this one.
_SOURCE_MARK = re.compile(r"\s?\[(?:kb|web)-\d+\]")
_COLONS = (":", "：")
# Longer code is quoted only where its introduction announces it.
MAX_FOLLOWING_CODE_LINES = 6


# A list or table is quoted with the sentence that introduces it, up to this many characters and parts of it.
MAX_PARTS_CHARS, MAX_PARTS = 700, 12


@dataclass(frozen=True, slots=True)
class Sentence:
    """One quotable sentence, list item, table row or code block with the sentence before it.

    `heading` is what stands above it: the nearest heading, and the introduction of its list, table or code. `parts` is
    the list or table that the sentence introduces, in Markdown. `is_code`: it ends with a block of code.
    """

    text: str
    heading: str = ""
    parts: str = ""
    is_code: bool = False


def split_passage(text: str) -> list[Sentence]:
    """The sentences of a passage of plain text or Markdown, in order.

    Images are left out, a table row becomes `column: cell; column: cell`. Code is quoted with the sentence that
    introduces it.
    """
    sentences: list[Sentence] = []
    previous: Block | None = None
    introduction: int | None = None  # the sentence whose list or table is read
    for block in split_blocks(text):
        if block.code:
            introduced = previous is not None and not previous.code and _introduces(previous.text, block.code)
            announcement = sentences.pop() if introduced and sentences else None
            sentences.append(_quote_code(block, announcement.text if announcement else ""))
        else:
            parts = _rejoin(split_sentences(_IMAGE.sub("", block.text)))
            if block.is_part and introduction is not None:
                sentences[introduction] = _with_part(sentences[introduction], " ".join(parts))
            sentences += [Sentence(part, block.context) for part in parts if re.search(r"\w", part)]
            if not block.is_part:
                introduction = len(sentences) - 1 if sentences and block.text.endswith(_COLONS) else None
        previous = block
    return sentences


def _with_part(sentence: Sentence, part: str) -> Sentence:
    lines = f"{sentence.parts}\n- {part}" if sentence.parts else f"- {part}"
    if len(lines) > MAX_PARTS_CHARS or lines.count("\n") >= MAX_PARTS:
        return sentence
    return replace(sentence, parts=lines)


def without_source_marks(text: str) -> str:
    """Remove marks such as `[kb-2]` from `text`."""
    return _SOURCE_MARK.sub("", text)


def _introduces(paragraph: str, code: str) -> bool:
    return paragraph.endswith(_COLONS) or code.count("\n") < MAX_FOLLOWING_CODE_LINES


def _quote_code(block: Block, introduction: str) -> Sentence:
    """One line of code fits into the sentence; more keep their lines."""
    if "\n" in block.code or "`" in block.code:
        quote = f"```\n{block.code}\n```"
        return Sentence(f"{introduction}\n\n{quote}" if introduction else quote, block.context, is_code=True)
    return Sentence(f"{introduction} `{block.code}`".strip(), block.context, is_code=True)


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
