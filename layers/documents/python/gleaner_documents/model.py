"""What a document is after reading, and why a file may fail to become one."""

from __future__ import annotations

from dataclasses import dataclass

from gleaner.errors import InvalidInput

HEADING_SEPARATOR = " › "


class UnreadableDocument(InvalidInput):
    """A file that cannot become a document; the message names the file and `reason` says what is wrong."""

    def __init__(self, source_file_path: str, reason: str) -> None:
        super().__init__(f"{source_file_path}: {reason}")
        self.source_file_path = source_file_path
        self.reason = reason


class NotText(UnreadableDocument):
    """The file is binary, or its text is in an encoding that it does not declare."""


class NoTextFound(UnreadableDocument):
    """The file is empty, or holds nothing but headings, pictures or scans."""


class BrokenPdf(UnreadableDocument):
    """The file is no PDF, is damaged, or is locked by a password."""


class UnknownFileType(UnreadableDocument):
    """The file's name has an ending that no reader exists for."""


class FileTooLarge(UnreadableDocument):
    """The file is larger than the limit for one document."""


class FileNotReadable(UnreadableDocument):
    """The file does not exist, is not a file, or may not be read by this user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Text between two headings, or of one PDF page, that is never empty.

    `chapter` is the heading path that the text stands under, from the outermost heading down and with the
    document's own H1 in it: "Keywords › Merging duplicates". One rule serves both kinds of document: in a
    handbook with one H1 a file, and in a textbook with a chapter a file, file name + chapter is a citation
    that reads well by itself, also where only the chapter is shown. None where no heading precedes the text.
    `page_number` counts from 1 and is set for PDF only.
    """

    text: str
    chapter: str | None = None
    page_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as titled sections, in reading order; `source_file_path` is POSIX, from the ingested root."""

    source_file_path: str
    title: str
    sections: tuple[Section, ...]
