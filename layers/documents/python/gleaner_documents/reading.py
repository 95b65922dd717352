"""Reads a file of any known type into a document."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol

from gleaner_documents.model import Document, NoTextFound, UnknownFileType
from gleaner_documents.readers.html import read_html
from gleaner_documents.readers.markdown import read_markdown
from gleaner_documents.readers.pdf import read_pdf
from gleaner_documents.readers.plain_text import read_plain_text


class _Reader(Protocol):
    def __call__(self, source_file_path: str, data: bytes, *, fallback_title: str) -> Document: ...


def is_known_type(source_file_path: str) -> bool:
    """Whether a reader exists for the file name's ending."""
    return _ending(source_file_path) in _READERS


def unknown_type(source_file_path: str) -> UnknownFileType:
    """The error for a file that no reader exists for."""
    return UnknownFileType(source_file_path, f"has no known file type; known are {', '.join(sorted(_READERS))}")


def read_document(source_file_path: str, data: bytes) -> Document:
    """The document in the bytes of a file, which is named by `source_file_path` (POSIX, from the root).

    Raises UnreadableDocument: UnknownFileType, NotText, BrokenPdf or NoTextFound.
    """
    reader = _READERS.get(_ending(source_file_path))
    if reader is None:
        raise unknown_type(source_file_path)
    if not data.strip():
        raise NoTextFound(source_file_path, "is empty")
    document = reader(source_file_path, data, fallback_title=PurePosixPath(source_file_path).name)
    if not document.sections:
        raise NoTextFound(source_file_path, "holds no text")
    return document


def _ending(source_file_path: str) -> str:
    return PurePosixPath(source_file_path).suffix.lower()


_READERS: dict[str, _Reader] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_plain_text,
    ".text": read_plain_text,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
}
