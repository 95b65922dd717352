"""Reads a file of any known type into a document."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol

from gleaner_local.documents.decoding import decode
from gleaner_local.documents.html import read_html
from gleaner_local.documents.markdown import read_markdown
from gleaner_local.documents.model import Document, NoTextFound, Section, UnknownFileType
from gleaner_local.documents.pdf import read_pdf
from gleaner_local.documents.wrapped_lines import join_wrapped_lines


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


def _read_text(source_file_path: str, data: bytes, *, fallback_title: str) -> Document:
    """Plain text is one section without a chapter; its title is the file name."""
    text = join_wrapped_lines(decode(source_file_path, data)).strip("\n").rstrip()
    sections = (Section(text=text),) if text.strip() else ()
    return Document(source_file_path=source_file_path, title=fallback_title, sections=sections)


_READERS: dict[str, _Reader] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": _read_text,
    ".text": _read_text,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
}
