"""Reads a file of any known format into a document."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol

from gleaner.addresses import is_page_address
from gleaner.document_files import FORMATS, describe_unknown_type, extension_of
from gleaner.groups import InvalidGroups
from gleaner_documents.model import (
    FRONT_MATTER_ALONE,
    PAGES_ALONE,
    Document,
    NoTextFound,
    NothingToRead,
    ReaderFailed,
    UnclearRights,
    UnknownFileType,
    UnreadableDocument,
)

# Of YAML, TOML and JSON. Section pages of site generators often have nothing else.
# `.. toctree::`, MyST's ```{include}, templates, and the files that other generators put in.
_DIRECTIVE = re.compile(rb"^[ \t]*(?:\.\. [\w-]+::|[`:~]{3,}\{|\{\{|\{%|\{!|<<<|-{1,4}8<-)", re.MULTILINE)
_FRONT_MATTER_MARKS = (b"---", b"+++", b"{")
_MARKDOWN, _RESTRUCTURED_TEXT = "Markdown", "reStructuredText"


class _Reader(Protocol):
    """Reads a file; `source_url` is its address, unless it states one itself. Relative links are resolved with it."""

    def __call__(
        self, source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
    ) -> Document: ...


def is_known_type(source_file_path: str) -> bool:
    """Whether a reader exists for the file name's extension."""
    return extension_of(source_file_path) in FORMATS


def known_extensions() -> list[str]:
    """The extensions of all files that can be read: ".htm", ".html", ..."""
    return sorted(FORMATS)


def format_names() -> list[str]:
    """The formats that can be read, by the names that people use: "Markdown", "text", ..."""
    return list(dict.fromkeys(known_format.name for known_format in FORMATS.values()))


def unknown_type(source_file_path: str) -> UnknownFileType:
    """The error for a file that no reader exists for."""
    return UnknownFileType(source_file_path, describe_unknown_type())


def read_document(source_file_path: str, data: bytes, *, source_url: str | None = None) -> Document:
    """Read the bytes of a file, which is named by `source_file_path` (POSIX, from the root).

    The document's `source_url` is the one that the file states, if that is the address of a page, else `source_url`.
    Without limits of time and memory; `reading_process` has them. Raises UnreadableDocument: UnknownFileType, NotText,
    BrokenPdf, BrokenFile, RefusedFile, UnclearRights, ReaderFailed or NoTextFound.
    """
    known_format = FORMATS.get(extension_of(source_file_path))
    if known_format is None:
        raise unknown_type(source_file_path)
    if not data.strip():
        raise NoTextFound(source_file_path, "is empty")
    read = _READERS[known_format.name]()
    try:
        document = read(
            source_file_path, data, fallback_title=PurePosixPath(source_file_path).name, source_url=source_url
        )
    except (UnreadableDocument, MemoryError):
        raise
    except InvalidGroups as error:
        raise UnclearRights(source_file_path, str(error)) from error
    except Exception as error:  # parsers of other projects raise anything on a file that they do not expect
        raise ReaderFailed(
            source_file_path, f"is not understood by the {known_format.name} parser ({type(error).__name__})"
        ) from error
    if not document.sections:
        raise _no_text(document, data, known_format.name)
    stated = document.source_url
    return replace(document, source_url=stated if stated and is_page_address(stated) else source_url)


def _no_text(document: Document, data: bytes, format_name: str) -> NoTextFound:
    """No text is no failure where a page only names what others hold: a section, a list of pages, an included file."""
    path = document.source_file_path
    if format_name == _MARKDOWN and data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(_FRONT_MATTER_MARKS):
        return NothingToRead(path, FRONT_MATTER_ALONE)
    if format_name in (_MARKDOWN, _RESTRUCTURED_TEXT) and _DIRECTIVE.search(data):
        return NothingToRead(path, PAGES_ALONE)
    return NoTextFound(path, "holds no text")


# Readers are imported when first used: each needs a large library, and every command lists the formats in its help.


def _load_markdown() -> _Reader:
    from gleaner_documents.readers.markdown import read_markdown

    return read_markdown


def _load_plain_text() -> _Reader:
    from gleaner_documents.readers.plain_text import read_plain_text

    return read_plain_text


def _load_html() -> _Reader:
    from gleaner_documents.readers.html import read_html

    return read_html


def _load_pdf() -> _Reader:
    from gleaner_documents.readers.pdf import read_pdf

    return read_pdf


def _load_word() -> _Reader:
    from gleaner_documents.readers.word import read_word

    return read_word


def _load_slides() -> _Reader:
    from gleaner_documents.readers.slides import read_slides

    return read_slides


def _load_spreadsheet() -> _Reader:
    from gleaner_documents.readers.spreadsheet import read_spreadsheet

    return read_spreadsheet


def _load_delimited() -> _Reader:
    from gleaner_documents.readers.delimited import read_delimited

    return read_delimited


def _load_epub() -> _Reader:
    from gleaner_documents.readers.epub import read_epub

    return read_epub


def _load_notebook() -> _Reader:
    from gleaner_documents.readers.notebook import read_notebook

    return read_notebook


def _load_restructured_text() -> _Reader:
    from gleaner_documents.readers.restructured_text import read_restructured_text

    return read_restructured_text


def _load_email() -> _Reader:
    from gleaner_documents.readers.email_message import read_email

    return read_email


_READERS: dict[str, Callable[[], _Reader]] = {
    _MARKDOWN: _load_markdown,
    "text": _load_plain_text,
    "HTML": _load_html,
    "PDF": _load_pdf,
    "Word": _load_word,
    "PowerPoint": _load_slides,
    "Excel": _load_spreadsheet,
    "CSV": _load_delimited,
    "EPUB": _load_epub,
    "Jupyter notebook": _load_notebook,
    _RESTRUCTURED_TEXT: _load_restructured_text,
    "e-mail": _load_email,
}
