"""Parts of Office files (OOXML) that more than one format has."""

from __future__ import annotations

import re
import zipfile
from xml.etree import ElementTree  # entities were refused when the archive was opened

from gleaner_documents.readers._sections import shorten

_DC = "{http://purl.org/dc/elements/1.1/}"
_CORE_PROPERTIES = "docProps/core.xml"
# What programs write into the title themselves: names of files, and their word for a document without a name.
_NO_TITLES = frozenset({"untitled", "powerpoint presentation", "document", "title", "word document", "presentation"})
_WORD = re.compile(r"\w")
_FILE_ENDINGS = (".doc", ".docx", ".dot", ".dotx", ".ppt", ".pptx", ".xls", ".xlsx", ".odt", ".rtf")


def parse_part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element | None:
    """An XML part of the archive; None if it is missing or no XML."""
    try:
        return ElementTree.fromstring(archive.read(name))  # noqa: S314 - see the import
    except (KeyError, ElementTree.ParseError):
        return None


def core_title(archive: zipfile.ZipFile) -> str:
    """The title in the core properties; empty if there is none that a person wrote."""
    properties = parse_part(archive, _CORE_PROPERTIES)
    return written_title(properties.findtext(f"{_DC}title") if properties is not None else None)


def written_title(title: str | None) -> str:
    """`title` on one line; empty if a program wrote it, or without letters and digits."""
    line = shorten(title or "")
    is_no_title = line.lower() in _NO_TITLES or line.lower().endswith(_FILE_ENDINGS)
    return "" if is_no_title or not _WORD.search(line) or line.startswith("Microsoft Word - ") else line
