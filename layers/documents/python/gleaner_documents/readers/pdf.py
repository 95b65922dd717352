"""Reads PDF: the sections of each page, with its number, its printed label and the bookmark it falls under."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from gleaner_documents.model import BrokenPdf, Document, NoTextFound, Section
from gleaner_documents.readers._hyphenation import hyphenated_words
from gleaner_documents.readers._pdf_layout import Line, find_gutter, join_paragraphs, read_lines
from gleaner_documents.readers._pdf_outline import Bookmark, divide_page, read_outline
from gleaner_documents.readers._pdf_pieces import MAX_PAGE_CHARS, Piece, TooMuchText, read_pieces
from gleaner_documents.readers._pdf_title import choose_title
from gleaner_documents.readers._running_lines import drop_running_lines
from gleaner_documents.readers._sections import shorten

_MAX_PAGES = 20_000
_MAX_CHARS = 50_000_000  # of all pages: a small file can draw one text any number of times
_MAX_LABEL_CHARS = 40
_MAX_KNOWN_GUTTERS = 3
logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)  # it logs flaws that it works around
_ONE_AT_A_TIME = threading.Lock()  # PDFium is not thread-safe


@dataclass(slots=True)
class _Page:
    pieces: list[Piece]
    turns: int
    label: str | None
    lines: list[Line] = field(default_factory=list)


def read_pdf(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document, with a section for each page with text, or for each bookmark on it.

    A chapter is the path of the last bookmark before the text. Raises BrokenPdf for a file that is damaged, needs a
    password or exceeds the limits, and NoTextFound when no page has text (scans).
    """
    with _ONE_AT_A_TIME:
        try:
            return _read(source_file_path, data, fallback_title, source_url)
        except pdfium.PdfiumError as error:
            raise BrokenPdf(source_file_path, _describe(error)) from error


def _read(source_file_path: str, data: bytes, fallback_title: str, source_url: str | None) -> Document:
    with pdfium.PdfDocument(data) as pdf:
        if len(pdf) > _MAX_PAGES:
            raise BrokenPdf(source_file_path, f"has more than {_MAX_PAGES:,} pages; divide it")
        if pdf.get_formtype() != pdfium_c.FORMTYPE_NONE:
            pdf.init_forms()
        pages = list(_read_pages(source_file_path, pdf))
        outline = read_outline(pdf)
        metadata_title = pdf.get_metadata_value("Title")
    if not any(page.pieces for page in pages):
        raise NoTextFound(source_file_path, "has no text on its pages; run text recognition (OCR) first")
    first_lines = _lay_out(pages)
    return Document(
        source_file_path=source_file_path,
        title=choose_title(metadata_title, data, first_lines, fallback_title),
        sections=tuple(_sections(pages, outline)),
        source_url=source_url,
    )


def _read_pages(source_file_path: str, pdf: pdfium.PdfDocument) -> Iterator[_Page]:
    char_count = 0
    for index in range(len(pdf)):
        page = pdf.get_page(index)
        try:
            if pdf.formenv:
                page.flatten()  # makes what is filled in a form part of the page
            pieces, turns = read_pieces(page)
        except TooMuchText:
            raise BrokenPdf(
                source_file_path, f"has more than {MAX_PAGE_CHARS:,} characters on page {index + 1}"
            ) from None
        finally:
            page.close()
        char_count += sum(len(piece.text) for piece in pieces)
        if char_count > _MAX_CHARS:
            raise BrokenPdf(source_file_path, f"holds more than {_MAX_CHARS:,} characters; divide it")
        yield _Page(pieces, turns, shorten(pdf.get_page_label(index))[:_MAX_LABEL_CHARS] or None)


def _lay_out(pages: Sequence[_Page]) -> list[Line]:
    """Set the lines of the pages, without running heads and feet; returns all lines of the first page."""
    gutters = Counter(gutter for page in pages if (gutter := find_gutter(page.pieces)) is not None)
    known = [gutter for gutter, _ in gutters.most_common(_MAX_KNOWN_GUTTERS)]
    lines = [read_lines(page.pieces, known) for page in pages]
    for page, rest in zip(pages, drop_running_lines(lines, [page.label for page in pages]), strict=True):
        page.lines = rest
    return lines[0]


def _sections(pages: Sequence[_Page], outline: dict[int, list[Bookmark]]) -> Iterator[Section]:
    compounds = hyphenated_words("\n".join(line.text for page in pages for line in page.lines))
    chapter: str | None = None
    for index, page in enumerate(pages):
        bookmarks = outline.get(index, [])
        for name, lines in divide_page(page.lines, bookmarks, page.turns, chapter):
            text = join_paragraphs(lines, compounds).strip("\n")
            if text:
                yield Section(text=text, chapter=name, page_number=index + 1, page_label=page.label)
        if bookmarks:
            chapter = bookmarks[-1].path


def _describe(error: pdfium.PdfiumError) -> str:
    if error.err_code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY):
        return "needs a password; save it without one"
    return f"is not a readable PDF ({error})"
