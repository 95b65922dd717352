"""Reads PDF: one section per page, with its page number and the bookmark it falls under."""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from gleaner_documents.model import HEADING_SEPARATOR, BrokenPdf, Document, NoTextFound, Section
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers._wrapped_lines import join_wrapped_lines

# A damaged file can lead the parser anywhere: these are the errors it raises there.
_DAMAGE = (PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
           NotImplementedError, AssertionError, OSError, struct.error, zlib.error)  # fmt: skip

_MAX_PATH_DEPTH = 6  # HTML also has six levels of headings

# pypdf logs each flaw that it works around; an unreadable file raises BrokenPdf anyway.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def read_pdf(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document, with a section for each page with text; its title is the metadata's, else `fallback_title`.

    A page's chapter is the path of the first bookmark that points to the page, else that of the page before.
    Raises BrokenPdf, and NoTextFound when no page has text (scans).
    """
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise BrokenPdf(source_file_path, "needs a password; save it without one")
        chapters = _chapters_by_page(reader)
        title = shorten(str(reader.metadata.title or "")) if reader.metadata else ""
        pages = [_clean(page.extract_text()) for page in reader.pages]
    except DependencyError as error:
        raise BrokenPdf(source_file_path, "is encrypted; save it without a password") from error
    except _DAMAGE as error:
        raise BrokenPdf(source_file_path, f"is not a readable PDF ({type(error).__name__})") from error
    if not any(pages):
        raise NoTextFound(source_file_path, "has no text on its pages; run text recognition (OCR) first")
    return Document(
        source_file_path=source_file_path,
        title=title or fallback_title,
        sections=tuple(_sections(pages, chapters)),
        source_url=source_url,
    )


def _sections(pages: list[str], chapters: dict[int, str]) -> Iterator[Section]:
    chapter = None
    for number, text in enumerate(pages, start=1):
        chapter = chapters.get(number, chapter)
        if text:
            yield Section(text=text, chapter=chapter, page_number=number)


def _clean(text: str) -> str:
    # Fonts without a character map produce NUL and lone surrogates, which cannot be sent.
    mapped = text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return join_wrapped_lines(mapped).strip("\n").rstrip()


def _chapters_by_page(reader: PdfReader) -> dict[int, str]:
    # In reverse, so that a page's first bookmark overwrites its later ones.
    return dict(reversed(list(_bookmarks(reader, reader.outline, ()))))


def _bookmarks(reader: PdfReader, entries: list[Any], path: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yields page number and bookmark path. In pypdf's outline, a list follows the bookmark that it is nested in."""
    inner = path
    for entry in entries:
        if isinstance(entry, list):
            yield from _bookmarks(reader, entry, inner)
            continue
        name = shorten(str(entry.title or ""))
        inner = (*path, name)[-_MAX_PATH_DEPTH:] if name else path
        page = reader.get_destination_page_number(entry)
        if page is not None and inner:
            yield page + 1, HEADING_SEPARATOR.join(inner)
