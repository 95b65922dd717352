"""Cuts text at paragraph and sentence boundaries into chunks that fit the embedding model's input."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gleaner.sentences import sentence_slices
from gleaner_documents.model import HEADING_SEPARATOR, Document

# MiniLM reads 256 word pieces at once. Our count is an estimate: on English prose, questions and answers, tables
# and source code it was 0.82 to 1.15 of the true count, mostly within 5 %, so 220 leaves room for the error. That
# is about 170 words of prose: small enough that a citation points at one thought, large enough that most sections
# of a handbook fit into one chunk.
# Chunks do not overlap: they end with sentences, and a passage in two chunks would take two of the few places in
# a search result and be quoted twice.
_DEFAULT_MAX_PIECES = 220

# Each match counts as one word piece: 8 Latin letters, 4 letters with their marks of another alphabet, 3 digits, or any
# other character (a Chinese character is a word of its own). MiniLM has a piece for nearly every Cyrillic, Arabic or
# Hindi letter, but chunks of 220 letters hold no thought: such text is found by its words, so chunks have about as many
# words in every language.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"
)
_LATIN = "A-Za-z\u00c0-\u024f"
_PIECE = re.compile(
    rf"[{_LATIN}]{{1,8}}|\d{{1,3}}|(?:(?![{_LATIN}{_UNSPACED}])[^\W\d_][^\w\s\x00-\u02ff\u2000-\u206f]{{0,3}}){{1,4}}|\S"
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
FENCE = "```"
_FENCE_LINE = re.compile(r"^[^\S\n]*```", re.MULTILINE)
_CODE_START = re.compile(r"\s*```")
_CODE_END = re.compile(r"```\s*$")
_INTRODUCTION_END = re.compile(r"[:：]\s*$")
_WIDE_SPACE = re.compile(r"[^\S\n]{20,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    """What decides where text is cut: `max_pieces` is the largest size of a chunk, in estimated word pieces."""

    max_pieces: int = _DEFAULT_MAX_PIECES

    def fingerprint(self) -> str:
        """A hash that differs for settings that cut the same text differently."""
        patterns = (pattern.pattern for pattern in (_PIECE, _BLANK_LINES, _FENCE_LINE, _WIDE_SPACE))
        return hashlib.sha256(repr((self.max_pieces, *patterns)).encode()).hexdigest()


DEFAULT_CHUNK_SETTINGS = ChunkSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document; `index` counts from 0 through the document."""

    index: int
    text: str
    chapter: str | None
    page_number: int | None
    page_label: str | None = None


def chunk_document(document: Document, settings: ChunkSettings = DEFAULT_CHUNK_SETTINGS) -> list[Chunk]:
    """Cut a document into chunks, in reading order; none crosses a heading or a page."""
    pieces = [(section, text) for section in document.sections for text in chunk_text(section.text, settings)]
    return [
        Chunk(
            index=index,
            text=text,
            chapter=section.chapter,
            page_number=section.page_number,
            page_label=section.page_label,
        )
        for index, (section, text) in enumerate(pieces)
    ]


def heading_of(document: Document, chunk: Chunk) -> str:
    """What a chunk is searched under: title and chapter on one line, and the description of the document.

    A description that is the text of the chunk is not repeated.
    """
    chapter = chunk.chapter or ""
    outermost = chapter.split(HEADING_SEPARATOR, 1)[0]
    names = [chapter] if outermost.casefold() == document.title.casefold() else [document.title, chapter]
    description = "" if document.description in chunk.text else document.description
    return "\n".join(filter(None, (HEADING_SEPARATOR.join(filter(None, names)), description)))


def chunk_text(text: str, settings: ChunkSettings = DEFAULT_CHUNK_SETTINGS) -> list[str]:
    """Cut `text` into chunks of at most `settings.max_pieces` estimated word pieces, in order and without loss.

    White space between chunks is dropped, and runs of blank lines or of 20 and more spaces are shortened. A code
    block (between lines of ```) that is cut becomes a code block in each chunk. Empty if `text` is only white space.
    """
    tidy = _WIDE_SPACE.sub(" ", _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n")))
    chunks = (piece.strip("\n").rstrip() for piece in _cut(tidy, settings.max_pieces))
    return list(_balance_fences(chunk for chunk in chunks if chunk.strip()))


def estimated_pieces(text: str) -> int:
    """Roughly how many word pieces MiniLM's tokenizer makes of `text`."""
    return sum(1 for _ in _PIECE.finditer(text))


def _cut(text: str, max_pieces: int, level: int = 0) -> Iterator[str]:
    """Yield slices of `text` that fit; joined, they equal `text`. What is too large is cut at the next level."""
    if estimated_pieces(text) <= max_pieces:
        yield text
        return
    parts: list[str] = []
    slices = _LEVELS[level](text)
    for part in _join_introductions(slices, max_pieces) if level == 0 else slices:
        if estimated_pieces(part) <= max_pieces:
            parts.append(part)
        else:
            introduction = parts.pop() if parts and _INTRODUCTION_END.search(parts[-1]) else ""
            yield from _pack(parts, max_pieces)
            parts = []
            yield from _cut(introduction + part, max_pieces, level + 1)
    yield from _pack(parts, max_pieces)


def _join_introductions(paragraphs: Iterable[str], max_pieces: int) -> Iterator[str]:
    """Join each paragraph that introduces the next one with it, if both fit."""
    block = ""
    for paragraph in paragraphs:
        introduced = bool(block) and (_CODE_START.match(paragraph) or _INTRODUCTION_END.search(block))
        if introduced and not _CODE_END.search(block) and estimated_pieces(block + paragraph) <= max_pieces:
            block += paragraph
        else:
            if block:
                yield block
            block = paragraph
    if block:
        yield block


def _pack(parts: Sequence[str], max_pieces: int) -> Iterator[str]:
    """Join neighbours into as few slices as possible, of similar size, so that no short rest is left at the end.

    No slice ends with an introduction of the next one.
    """
    sizes = [estimated_pieces(part) for part in parts]
    remaining = sum(sizes)
    target = _even_share(remaining, max_pieces)
    slice_parts: list[str] = []
    slice_size = 0
    for part, size in zip(parts, sizes, strict=True):
        if slice_parts and (slice_size + size > max_pieces or slice_size + size / 2 > target):
            introduction = [slice_parts.pop()] if _ends_with_introduction(slice_parts, size, max_pieces) else []
            introduction_size = sum(map(estimated_pieces, introduction))
            yield "".join(slice_parts)
            remaining -= slice_size - introduction_size
            target = _even_share(remaining, max_pieces)
            slice_parts, slice_size = introduction, introduction_size
        slice_parts.append(part)
        slice_size += size
    if slice_parts:
        yield "".join(slice_parts)


def _ends_with_introduction(parts: Sequence[str], next_size: int, max_pieces: int) -> bool:
    """Whether the last of several parts introduces the next one, of `next_size`, and fits into a slice with it."""
    if len(parts) < 2 or not _INTRODUCTION_END.search(parts[-1]):  # noqa: PLR2004
        return False
    return estimated_pieces(parts[-1]) + next_size <= max_pieces


def _even_share(size: int, max_pieces: int) -> float:
    return size / max(1, math.ceil(size / max_pieces))


def _balance_fences(chunks: Iterable[str]) -> Iterator[str]:
    """Close and reopen code blocks that were cut: an unpaired fence turns code into prose and prose into code."""
    in_code = False
    for chunk in chunks:
        opening = f"{FENCE}\n" if in_code else ""
        in_code ^= _has_unpaired_fence(chunk)
        yield opening + chunk + (f"\n{FENCE}" if in_code else "")


def _split_paragraphs(text: str) -> Iterator[str]:
    """Cut after blank lines, except those in a code block."""
    paragraph: list[str] = []
    in_code = False
    for part in _split_at_blank_lines(text):
        paragraph.append(part)
        in_code ^= _has_unpaired_fence(part)
        if not in_code:
            yield "".join(paragraph)
            paragraph = []
    yield from paragraph  # a fence that never closes does not open a block


def _has_unpaired_fence(text: str) -> bool:
    return len(_FENCE_LINE.findall(text)) % 2 == 1


def _split_after(boundary: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    """A function that cuts a text after every match of `boundary` and keeps all characters."""

    def cut(text: str) -> Iterator[str]:
        start = 0
        for match in boundary.finditer(text):
            yield text[start : match.end()]
            start = match.end()
        if start < len(text):
            yield text[start:]

    return cut


_split_at_blank_lines = _split_after(re.compile(r"\n\n"))
_LEVELS: tuple[Callable[[str], Iterator[str]], ...] = (
    _split_paragraphs,
    sentence_slices,
    _split_after(re.compile(r"\s+")),
    _split_after(_PIECE),
)
