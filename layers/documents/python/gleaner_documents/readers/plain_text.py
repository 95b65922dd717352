"""Reads plain text."""

from __future__ import annotations

from gleaner_documents.model import Document, Section
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._wrapped_lines import join_wrapped_lines


def read_plain_text(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The text as one section without a chapter; its title is the file name. Raises NotText."""
    text = join_wrapped_lines(decode(source_file_path, data)).strip("\n").rstrip()
    sections = (Section(text=text),) if text.strip() else ()
    return Document(source_file_path=source_file_path, title=fallback_title, sections=sections, source_url=source_url)
