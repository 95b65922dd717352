"""A document as it is after reading, and the errors for a file that cannot become one."""

from __future__ import annotations

from dataclasses import dataclass

from gleaner.errors import GleanerError, InvalidInput

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
    """The file is empty or holds only headings, pictures or scans."""


class BrokenPdf(UnreadableDocument):
    """The file is not a PDF, is damaged, or needs a password."""


FRONT_MATTER_ALONE, PAGES_ALONE = "has front matter alone", "names other pages alone"


class NothingToRead(NoTextFound):
    """The file is sound but describes only itself: `reason` is FRONT_MATTER_ALONE or PAGES_ALONE."""


class BrokenFile(UnreadableDocument):
    """The file is damaged, needs a password or is of another format than its name says."""


class RefusedFile(UnreadableDocument):
    """Reading the file would take more time or memory than one file may, or the file holds XML entities."""


class ReaderFailed(UnreadableDocument):
    """The parser of the file's format does not understand the file."""


class ReaderNotStarted(GleanerError):
    """The process that reads documents does not start. No document is to blame."""


class UnknownFileType(UnreadableDocument):
    """No reader exists for the extension of the file's name."""


class FileTooLarge(UnreadableDocument):
    """The file is larger than the limit for one document."""


class FileNotReadable(UnreadableDocument):
    """The file does not exist, is not a file, or this user may not read it."""


class StaleUpload(UnreadableDocument):
    """An upload that was allowed before the document was given to other groups than it had then."""


class UnclearRights(UnreadableDocument):
    """It is said in a way that cannot be read whom the document is for, so it is for nobody until that is mended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Text between two headings, or of one PDF page; never empty.

    `chapter` is the path of headings above the text, from the outermost heading down and including the document's
    own H1: "Keywords › Merging duplicates". The rule suits a handbook with one H1 per file and a textbook with one
    chapter per file: file name and chapter make a readable citation, and so does the chapter alone. It is None
    if no heading precedes the text. `page_number` counts from 1 and is set for PDF only, and so is `page_label`, the
    number that the page bears in print, where the file says so: "iii", "A-2".
    """

    text: str
    chapter: str | None = None
    page_number: int | None = None
    page_label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as titled sections, in reading order; `source_file_path` is a POSIX path from the ingested root.

    `source_url` is the address at which people read the document, and `description` says in a sentence what it is
    about; both as far as the file states them. `groups` are those that the file itself says it is for, none if it says
    nothing.
    """

    source_file_path: str
    title: str
    sections: tuple[Section, ...]
    source_url: str | None = None
    description: str = ""
    groups: tuple[str, ...] = ()
