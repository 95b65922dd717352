"""Measures how fast documents are read and cut, beside the parsers alone.

    python benchmarks/reading.py DIR

Reads every file under DIR that can be ingested. A page is a page of a PDF, 3,000 bytes of a Markdown or HTML file, or
3,000 characters of the text of any other. Each file is read as ingestion reads it, then cut into chunks, and then
parsed by the libraries alone: PDF by PDFium and by pypdf, Markdown by markdown-it, HTML by Beautiful Soup, Word by
mammoth, reStructuredText by docutils. The figures are pages for each second of CPU time, so that other programs change
them little.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

import mammoth
import pypdfium2 as pdfium
from bs4 import BeautifulSoup
from docutils.core import publish_doctree
from markdown_it import MarkdownIt
from pypdf import PdfReader

from gleaner_documents.chunking import chunk_document
from gleaner_documents.model import Document, UnreadableDocument
from gleaner_documents.reading import known_extensions, read_document

CHARS_PER_PAGE = 3000
Parse = Callable[[bytes], object]


def main() -> None:
    """Print pages a second for each format that has files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    logging.disable(logging.CRITICAL)
    paths: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            paths[SAME_FORMAT.get(path.suffix.lower(), path.suffix.lower())].append(path)
    print(f"{'format':10}{'files':>7}{'left out':>10}{'pages':>8}  pages a second")
    for extension in sorted(paths.keys() & known_extensions()):
        measure(extension, paths[extension], PARSERS.get(extension, {}))


def measure(name: str, paths: Iterable[Path], parsers: dict[str, Parse]) -> None:
    """Print one line for a format; files that cannot be read are counted and left out."""
    seconds: dict[str, float] = defaultdict(float)
    files, unreadable, pages = 0, 0, 0.0
    for path in paths:
        data = path.read_bytes()
        start = time.process_time()
        try:
            document = read_document(path.name, data)
        except UnreadableDocument:
            unreadable += 1
            continue
        seconds["read"] += time.process_time() - start
        seconds["cut"] += timed(chunk_document, document)
        for parser, parse in parsers.items():
            seconds[parser] += timed(parse, data)
        files += 1
        pages += count_pages(name, document, data)
    speeds = (f"{key} {pages / value:,.1f}" for key, value in seconds.items() if value)
    print(f"{name:10}{files:7}{unreadable:10}{pages:8,.0f}  {', '.join(speeds)}")


def timed(call: Callable[..., object], *arguments: object) -> float:
    """The seconds that a call takes; a parser alone may fail where the reader does not."""
    start = time.process_time()
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - parsers raise anything on damaged files
        logging.getLogger(__name__).info("%r", error)
    return time.process_time() - start


def count_pages(extension: str, document: Document, data: bytes) -> float:
    """Pages of a PDF up to the last one with text, or the size of any other file in pages."""
    size = len(data) if extension in TEXT_FILES else sum(len(section.text) for section in document.sections)
    return document.sections[-1].page_number or size / CHARS_PER_PAGE


def parse_with_pdfium(data: bytes) -> None:
    """Take the text of every page."""
    with pdfium.PdfDocument(data) as pdf:
        for page in pdf:
            page.get_textpage().get_text_range()


def parse_with_pypdf(data: bytes) -> None:
    """Take the text of every page."""
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted:
        reader.decrypt("")
    for page in reader.pages:
        page.extract_text()


def parse_with_markdown_it(data: bytes) -> None:
    """Parse as the Markdown reader's library does."""
    MarkdownIt("commonmark").enable("table").parse(data.decode("utf-8", "replace"))


def parse_with_beautiful_soup(data: bytes) -> None:
    """Parse as the HTML reader's library does."""
    BeautifulSoup(data, "html.parser")


def parse_with_mammoth(data: bytes) -> None:
    """Convert as the reader of Word documents does, without its rules for styles."""
    mammoth.convert_to_html(BytesIO(data))


def parse_with_docutils(data: bytes) -> None:
    """Parse as the reader of reStructuredText does."""
    settings = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    publish_doctree(data.decode("utf-8", "replace"), settings_overrides=settings)


SAME_FORMAT = {".markdown": ".md", ".mdx": ".md", ".htm": ".html", ".xhtml": ".html", ".text": ".txt"}
TEXT_FILES = (".md", ".html")
PARSERS: dict[str, dict[str, Parse]] = {
    ".pdf": {"PDFium alone": parse_with_pdfium, "pypdf alone": parse_with_pypdf},
    ".md": {"markdown-it alone": parse_with_markdown_it},
    ".html": {"Beautiful Soup alone": parse_with_beautiful_soup},
    ".docx": {"mammoth alone": parse_with_mammoth},
    ".rst": {"docutils alone": parse_with_docutils},
}

if __name__ == "__main__":
    main()
