"""Cuts text into chunks that an embedding model reads whole, on the borders of paragraphs and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gleaner_documents.model import Document
from gleaner_documents.sentences import sentence_slices

# MiniLM reads 256 word pieces at once. The count below is an estimate: on English prose, questions and
# answers, tables and source code it was 0.82 to 1.15 of the true count, mostly within 5 %, so 220 leaves room
# for the error. That is about 170 words of prose: small enough that a citation points at one thought, large
# enough that most sections of a handbook stay whole.
# There is no overlap: chunks end with sentences, and a passage that stands in two chunks would take two of
# the few places in a search result and be quoted twice.
LARGEST_CHUNK = 220

# Each match stands for one word piece: 8 Latin letters, 3 digits, or any other sign (a Chinese character is
# one piece; so is nearly every Cyrillic or Arabic letter in a vocabulary made from English).
_PIECE = re.compile(r"[A-Za-z\u00c0-\u024f]{1,8}|\d{1,3}|\S")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
FENCE = "```"
_FENCE_LINE = re.compile(r"^[^\S\n]*```", re.MULTILINE)
_WIDE_SPACE = re.compile(r"[^\S\n]{20,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document; `index` counts from 0 through the whole document."""

    index: int
    text: str
    chapter: str | None
    page_number: int | None


def chunk_document(document: Document) -> list[Chunk]:
    """The chunks of a document in reading order; none crosses a heading or a page."""
    cut = [(section, text) for section in document.sections for text in chunk_text(section.text)]
    return [
        Chunk(index=index, text=text, chapter=section.chapter, page_number=section.page_number)
        for index, (section, text) in enumerate(cut)
    ]


def chunk_text(text: str) -> list[str]:
    """`text` in pieces of at most `LARGEST_CHUNK` estimated word pieces, in order, with nothing left out.

    White space between pieces is dropped, and runs of blank lines or of 20 and more spaces are shortened.
    A block of code (between lines of ```) that is cut is a block in each chunk. Empty for text without any
    words or signs.
    """
    tidy = _WIDE_SPACE.sub(" ", _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n")))
    chunks = (piece.strip("\n").rstrip() for piece in _cut(tidy, 0))
    return list(_with_whole_fences(chunk for chunk in chunks if chunk.strip()))


def estimated_pieces(text: str) -> int:
    """About how many word pieces MiniLM's tokenizer makes of `text`."""
    return sum(1 for _ in _PIECE.finditer(text))


def _cut(text: str, level: int) -> Iterator[str]:
    """Slices of `text` that fit, joined they are `text`; what is too large is cut at the next level."""
    if estimated_pieces(text) <= LARGEST_CHUNK:
        yield text
        return
    parts: list[str] = []
    for part in _LEVELS[level](text):
        if estimated_pieces(part) <= LARGEST_CHUNK:
            parts.append(part)
        else:
            yield from _packed(parts)
            parts = []
            yield from _cut(part, level + 1)
    yield from _packed(parts)


def _packed(parts: Sequence[str]) -> Iterator[str]:
    """Neighbours joined into as few slices as possible, of like size: no short rest remains at the end."""
    sizes = [estimated_pieces(part) for part in parts]
    remaining = sum(sizes)
    target = _even_share(remaining)
    held: list[str] = []
    held_size = 0
    for part, size in zip(parts, sizes, strict=True):
        if held and (held_size + size > LARGEST_CHUNK or held_size + size / 2 > target):
            yield "".join(held)
            remaining -= held_size
            target = _even_share(remaining)
            held, held_size = [], 0
        held.append(part)
        held_size += size
    if held:
        yield "".join(held)


def _even_share(size: int) -> float:
    return size / max(1, math.ceil(size / LARGEST_CHUNK))


def _with_whole_fences(chunks: Iterable[str]) -> Iterator[str]:
    """Half a fence would turn code into prose, and the prose behind it into code."""
    inside = False
    for chunk in chunks:
        opening = f"{FENCE}\n" if inside else ""
        inside ^= _is_odd_in_fences(chunk)
        yield opening + chunk + (f"\n{FENCE}" if inside else "")


def _paragraphs(text: str) -> Iterator[str]:
    """Cuts behind blank lines, but not those in a block of code."""
    held: list[str] = []
    inside = False
    for part in _at_blank_lines(text):
        held.append(part)
        inside ^= _is_odd_in_fences(part)
        if not inside:
            yield "".join(held)
            held = []
    yield from held  # a fence that never closes is no block


def _is_odd_in_fences(text: str) -> bool:
    return len(_FENCE_LINE.findall(text)) % 2 == 1


def _slices(border: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    """Cuts a text behind every match of `border`, keeping all characters."""

    def cut(text: str) -> Iterator[str]:
        start = 0
        for match in border.finditer(text):
            yield text[start : match.end()]
            start = match.end()
        if start < len(text):
            yield text[start:]

    return cut


_at_blank_lines = _slices(re.compile(r"\n\n"))
_LEVELS: tuple[Callable[[str], Iterator[str]], ...] = (
    _paragraphs,
    sentence_slices,
    _slices(re.compile(r"\s+")),
    _slices(_PIECE),
)
