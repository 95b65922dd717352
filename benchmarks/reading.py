"""Measures how fast documents are read and cut, beside the parsers alone.

    python benchmarks/reading.py DIR

Reads every PDF, Markdown and HTML file under DIR. A page is a page of a PDF, or 3,000 bytes of a text file. Each file
is read as ingestion reads it, then cut into chunks, and then parsed by the libraries alone: PDF by PDFium and by pypdf,
Markdown by markdown-it, HTML by Beautiful Soup.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

import pypdfium2 as pdfium
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from pypdf import PdfReader

from gleaner_documents.chunking import chunk_document
from gleaner_documents.model import Document, UnreadableDocument
from gleaner_documents.reading import read_document

BYTES_PER_PAGE = 3000
Parse = Callable[[bytes], object]


def main() -> None:
    """Print pages a second for each format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    logging.disable(logging.CRITICAL)
    print(f"{'format':10}{'files':>7}{'left out':>10}{'pages':>8}  pages a second")
    for name, (extensions, parsers) in FORMATS.items():
        measure(name, (path for path in sorted(directory.rglob("*")) if path.suffix.lower() in extensions), parsers)


def measure(name: str, paths: Iterable[Path], parsers: dict[str, Parse]) -> None:
    """Print one line for a format; files that cannot be read are counted and left out."""
    seconds: dict[str, float] = defaultdict(float)
    files, unreadable, pages = 0, 0, 0.0
    for path in paths:
        data = path.read_bytes()
        start = time.perf_counter()
        try:
            document = read_document(path.name, data)
        except UnreadableDocument:
            unreadable += 1
            continue
        seconds["read"] += time.perf_counter() - start
        seconds["cut"] += timed(chunk_document, document)
        for parser, parse in parsers.items():
            seconds[parser] += timed(parse, data)
        files += 1
        pages += count_pages(document, data)
    speeds = (f"{key} {pages / value:,.1f}" for key, value in seconds.items())
    print(f"{name:10}{files:7}{unreadable:10}{pages:8,.0f}  {', '.join(speeds)}")


def timed(call: Callable[..., object], *arguments: object) -> float:
    """The seconds that a call takes; a parser alone may fail where the reader does not."""
    start = time.perf_counter()
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - parsers raise anything on damaged files
        logging.getLogger(__name__).info("%r", error)
    return time.perf_counter() - start


def count_pages(document: Document, data: bytes) -> float:
    """Pages of a PDF up to the last one with text, or the size of a text file in pages."""
    return document.sections[-1].page_number or len(data) / BYTES_PER_PAGE


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


FORMATS: dict[str, tuple[tuple[str, ...], dict[str, Parse]]] = {
    "PDF": ((".pdf",), {"PDFium alone": parse_with_pdfium, "pypdf alone": parse_with_pypdf}),
    "Markdown": ((".md", ".markdown"), {"markdown-it alone": parse_with_markdown_it}),
    "HTML": ((".html", ".htm"), {"Beautiful Soup alone": parse_with_beautiful_soup}),
}

if __name__ == "__main__":
    main()
