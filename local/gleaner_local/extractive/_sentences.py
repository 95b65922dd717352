"""Splits a passage into sentences that can be quoted on their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gleaner.sentences import split_sentences
from gleaner_local.extractive._passage_blocks import Block, split_blocks

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_OPEN_LINK = re.compile(r"\[[^\[\]]*$")
_CLOSES_LINK = re.compile(r"[^\[\]]*\]\(")
# A mark in an earlier answer refers to a passage of that query, and means nothing in this one.
_SOURCE_MARK = re.compile(r"\s?\[(?:kb|web)-\d+\]")
# Longer code is quoted only where its introduction announces it.
MAX_FOLLOWING_CODE_LINES = 6


@dataclass(frozen=True, slots=True)
class Sentence:
    """One quotable sentence, list item, table row or code block with the sentence before it.

    `heading` is what stands above it: the nearest heading, and the introduction of its list, table or code.
    """

    text: str
    heading: str = ""


def split_passage(text: str) -> list[Sentence]:
    """The sentences of a passage of plain text or Markdown, in order.

    Images are left out, a table row becomes `column: cell; column: cell`. Code is quoted with the sentence that
    introduces it.
    """
    sentences: list[Sentence] = []
    previous: Block | None = None
    for block in split_blocks(text):
        if block.code:
            introduced = previous is not None and not previous.code and _introduces(previous.text, block.code)
            introduction = sentences.pop() if introduced and sentences else None
            sentences.append(_quote_code(block, introduction.text if introduction else ""))
        else:
            parts = _rejoin(split_sentences(_IMAGE.sub("", block.text)))
            sentences += [Sentence(part, block.context) for part in parts if re.search(r"\w", part)]
        previous = block
    return sentences


def without_source_marks(text: str) -> str:
    """Remove marks such as `[kb-2]` from `text`."""
    return _SOURCE_MARK.sub("", text)


def _introduces(paragraph: str, code: str) -> bool:
    return paragraph.endswith((":", "：")) or code.count("\n") < MAX_FOLLOWING_CODE_LINES


def _quote_code(block: Block, introduction: str) -> Sentence:
    """One line of code fits into the sentence; more keep their lines."""
    if "\n" in block.code or "`" in block.code:
        quote = f"```\n{block.code}\n```"
        return Sentence(f"{introduction}\n\n{quote}" if introduction else quote, block.context)
    return Sentence(f"{introduction} `{block.code}`".strip(), block.context)


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
