"""Reads a file of any known format into a document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from gleaner_documents.model import Document, NoTextFound, ReaderFailed, UnknownFileType, UnreadableDocument


class _Reader(Protocol):
    def __call__(self, source_file_path: str, data: bytes, *, fallback_title: str) -> Document: ...


def is_known_type(source_file_path: str) -> bool:
    """Whether a reader exists for the file name's extension."""
    return _extension(source_file_path) in _FORMATS


def known_extensions() -> list[str]:
    """The extensions of all files that can be read: ".htm", ".html", ..."""
    return sorted(_FORMATS)


def format_names() -> list[str]:
    """The formats that can be read, by the names that people use: "Markdown", "text", ..."""
    return list(dict.fromkeys(known_format.name for known_format in _FORMATS.values()))


def unknown_type(source_file_path: str) -> UnknownFileType:
    """The error for a file that no reader exists for."""
    return UnknownFileType(source_file_path, f"has no known file type; known are {', '.join(known_extensions())}")


def read_document(source_file_path: str, data: bytes) -> Document:
    """Read the bytes of a file, which is named by `source_file_path` (POSIX, from the root).

    Raises UnreadableDocument: UnknownFileType, NotText, BrokenPdf, ReaderFailed or NoTextFound.
    """
    known_format = _FORMATS.get(_extension(source_file_path))
    if known_format is None:
        raise unknown_type(source_file_path)
    if not data.strip():
        raise NoTextFound(source_file_path, "is empty")
    read = known_format.load_reader()
    try:
        document = read(source_file_path, data, fallback_title=PurePosixPath(source_file_path).name)
    except (UnreadableDocument, MemoryError):
        raise
    except Exception as error:  # parsers of other projects raise anything on a file that they do not expect
        raise ReaderFailed(
            source_file_path, f"is not understood by the {known_format.name} parser ({type(error).__name__})"
        ) from error
    if not document.sections:
        raise NoTextFound(source_file_path, "holds no text")
    return document


def _extension(source_file_path: str) -> str:
    return PurePosixPath(source_file_path).suffix.lower()


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


class _Format(NamedTuple):
    name: str
    load_reader: Callable[[], _Reader]


_MARKDOWN = _Format("Markdown", _load_markdown)
_TEXT = _Format("text", _load_plain_text)
_HTML = _Format("HTML", _load_html)

_FORMATS = {
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".txt": _TEXT,
    ".text": _TEXT,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".pdf": _Format("PDF", _load_pdf),
}
