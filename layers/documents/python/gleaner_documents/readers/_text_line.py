"""Writes the words of a line: collapses white space and keeps what links, exponents and readings say."""

from __future__ import annotations

from bs4 import Tag

from gleaner_documents.readers._links import link_text
from gleaner_documents.readers._raised_text import (
    SENTENCE_ENDS,
    add_footnote_mark,
    is_footnote,
    write_subscript,
    write_superscript,
)

SPANS = ("a", "sup", "sub", "rt", "ruby")
_MAX_SPANS = 8  # bounds the work on a page that nests them without end
_CONTEXT_CHARS = 24  # of the text before an exponent
_NOTE_ROLES = ("doc-noteref", "noteref")
_NOTE_CLASSES = {"footnote", "footnote-ref", "footnote-reference", "reference", "fn"}


class TextLine:
    """The text so far, as parts, with the white space that the next word needs before it."""

    def __init__(self, base_url: str | None) -> None:
        self._base_url = base_url
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self._start = ""  # "item" or "label": what stands before the next text on its line
        self._code = 0
        self._spans: list[tuple[Tag, int]] = []  # open inline elements, and where their parts begin
        self._readings: list[str] = []
        self._index_end = -1  # where a subscript ended: a number after it is not part of it

    def _clear(self) -> None:
        self._parts, self._spans, self._breaks, self._space = [], [], 0, False
        self._start, self._index_end = "", -1

    def _write_words(self, text: str) -> None:
        words = text.split()
        self._space |= text[:1].isspace()
        if words:
            self._write(" ".join(words))
            self._space = text[-1].isspace()

    def _write(self, text: str) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        elif self._parts and not self._parts[-1].endswith((" ", "\n")):
            if self._space or (self._index_end == len(self._parts) and text[0].isdigit()):
                self._parts.append(" ")
        self._breaks, self._space, self._start = 0, False, ""
        self._parts.append(text)

    def _handle_span(self, tag: Tag, *, opens: bool) -> None:
        if opens:
            if tag.name == "sup":
                self._index_end = -1
            if len(self._spans) < _MAX_SPANS:
                self._spans.append((tag, len(self._parts)))
            return
        if not self._spans or self._spans[-1][0] is not tag:
            return
        start = self._spans.pop()[1]
        while start < len(self._parts) and not self._parts[start].strip():
            start += 1
        text = "".join(self._parts[start:])
        before = "".join(part[-_CONTEXT_CHARS:] for part in self._parts[max(0, start - 3) : start])[-_CONTEXT_CHARS:]
        if tag.name == "ruby" and self._readings:
            self._parts.append(f"({''.join(self._readings)})")
            self._readings = []
        elif text.strip():
            del self._parts[start:]
            self._end_span(tag, before, text)

    def _end_span(self, tag: Tag, before: str, text: str) -> None:
        if tag.name == "rt":
            self._readings.append(text.strip())
        elif "\n```" in text or (self._code and tag.name == "a"):
            self._parts.append(text)
        elif tag.name == "a" and not _is_note_link(tag):
            self._parts.append(self._write_link(text, str(tag.get("href") or "")))
        elif _is_note(tag, before, text):
            self._add_note(text)
        else:
            write = write_superscript if tag.name == "sup" else write_subscript
            self._parts.append(write(before, text))
            if tag.name == "sub" and text[-1].isdigit():
                self._index_end = len(self._parts)

    def _write_link(self, text: str, address: str) -> str:
        """The link in Markdown; after text of several lines, such as a card, the address alone."""
        if not address or ("\n" not in text and "](" not in text):
            return link_text(text, address, self._base_url) if address else text
        bare = link_text(address, address, self._base_url)
        return f"{text} {bare}" if bare.startswith("<") and "](" not in text else text

    def _add_note(self, text: str) -> None:
        """Add the mark of a footnote to what it belongs to."""
        last = ""
        while self._parts and not last.strip(SENTENCE_ENDS + " "):
            last = self._parts.pop() + last
        self._parts.append(add_footnote_mark(last, text))


def _is_note(tag: Tag, before: str, text: str) -> bool:
    """Whether a superscript or link is the mark of a footnote: it links into the page, says so, or is written so."""
    if not before.strip() or "\n" in text or tag.name == "sub":
        return False
    if tag.name == "a":
        return _is_note_link(tag) and tag.find("sup") is None
    link = tag.find("a") or tag.find_parent("a")
    return (
        (isinstance(link, Tag) and str(link.get("href") or "").startswith("#"))
        or not _NOTE_CLASSES.isdisjoint(tag.get("class") or ())
        or is_footnote(before, text)
    )


def _is_note_link(tag: Tag) -> bool:
    return tag.get("role") in _NOTE_ROLES or tag.get("epub:type") in _NOTE_ROLES
