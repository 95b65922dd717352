"""Reads PDF: the text of each page under its page number and the bookmark it stands under."""

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

# A damaged file sends the parser wherever its bytes point: these are what it meets there.
_DAMAGE = (PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
           NotImplementedError, AssertionError, OSError, struct.error, zlib.error)  # fmt: skip

_DEEPEST_PATH = 6  # as many levels as HTML has headings

# pypdf logs each flaw that it works around; a file that cannot be read is told by BrokenPdf.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def read_pdf(source_file_path: str, data: bytes, *, fallback_title: str) -> Document:
    """The document, a section for each page with text; its title is the metadata's, else `fallback_title`.

    A page's chapter is the path of the first bookmark that points to the page, else of the last one before.
    Raises BrokenPdf, and NoTextFound when no page has text (scans).
    """
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise BrokenPdf(source_file_path, "is locked by a password; save it without one")
        chapters = dict(_chapters(reader))
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
    )


def _sections(pages: list[str], chapters: dict[int, str]) -> Iterator[Section]:
    chapter = None
    for number, text in enumerate(pages, start=1):
        chapter = chapters.get(number, chapter)
        if text:
            yield Section(text=text, chapter=chapter, page_number=number)


def _clean(text: str) -> str:
    # Fonts without a character map give NUL and lone surrogates, which are no text and cannot be sent.
    mapped = text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return join_wrapped_lines(mapped).strip("\n").rstrip()


def _chapters(reader: PdfReader) -> Iterator[tuple[int, str]]:
    """Page number and bookmark path; the first bookmark of a page comes last, so that a dict keeps it."""
    yield from reversed(list(_bookmarks(reader, reader.outline, ())))


def _bookmarks(reader: PdfReader, entries: list[Any], path: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """pypdf gives an outline as destinations, each followed by the list of those below it."""
    inner = path
    for entry in entries:
        if isinstance(entry, list):
            yield from _bookmarks(reader, entry, inner)
            continue
        name = shorten(str(entry.title or ""))
        inner = (*path, name)[-_DEEPEST_PATH:] if name else path
        page = reader.get_destination_page_number(entry)
        if page is not None and inner:
            yield page + 1, HEADING_SEPARATOR.join(inner)
