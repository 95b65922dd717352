"""What files can be loaded as documents: their formats, their names, and the ids of the documents."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import PurePosixPath
from typing import NamedTuple

from gleaner import text
from gleaner.errors import InvalidInput

# A file is kept in memory with its text and chunks, and embedding 50 MB of text takes a quarter of an hour.
MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_NAME_BYTES = 255  # of a file name on the usual file systems
UPLOADS = "uploads"  # what the names of uploaded documents begin with, as those of a directory that was ingested
_MAX_SLUG_CHARS = 60
_JOINERS = "\u200c\u200d"  # part of the spelling in some scripts, and of some pictures
_FORM_VARIABLE = "${filename}"  # S3 replaces it in the key of a form
_OFFICE = "application/vnd.openxmlformats-officedocument."


class FileFormat(NamedTuple):
    """A format by the name that people use, and the media type of files with one of its extensions."""

    name: str
    media_type: str


# A table of our own: that of the machine differs from one machine to the next.
FORMATS = {
    ".md": FileFormat("Markdown", "text/markdown"),
    ".markdown": FileFormat("Markdown", "text/markdown"),
    ".mdx": FileFormat("Markdown", "text/markdown"),
    ".txt": FileFormat("text", "text/plain"),
    ".text": FileFormat("text", "text/plain"),
    ".html": FileFormat("HTML", "text/html"),
    ".htm": FileFormat("HTML", "text/html"),
    ".xhtml": FileFormat("HTML", "application/xhtml+xml"),
    ".pdf": FileFormat("PDF", "application/pdf"),
    ".docx": FileFormat("Word", f"{_OFFICE}wordprocessingml.document"),
    ".pptx": FileFormat("PowerPoint", f"{_OFFICE}presentationml.presentation"),
    ".xlsx": FileFormat("Excel", f"{_OFFICE}spreadsheetml.sheet"),
    ".csv": FileFormat("CSV", "text/csv"),
    ".tsv": FileFormat("CSV", "text/tab-separated-values"),
    ".epub": FileFormat("EPUB", "application/epub+zip"),
    ".ipynb": FileFormat("Jupyter notebook", "application/x-ipynb+json"),
    ".rst": FileFormat("reStructuredText", "text/x-rst"),
    ".eml": FileFormat("e-mail", "message/rfc822"),
}


def extension_of(path: str) -> str:
    """The extension of a file's name in lower case: ".md"; empty if it has none."""
    return PurePosixPath(path).suffix.lower()


def media_type_of(path: str) -> str:
    """The media type of a file by its extension; plain text if that is not known."""
    known = FORMATS.get(extension_of(path))
    return known.media_type if known else "text/plain"


def describe_unknown_type() -> str:
    """What is wrong with a file that no reader exists for, to follow its name."""
    return f"has no known file type; known are {', '.join(sorted(FORMATS))}"


def slug_of(name: str) -> str:
    """The ASCII letters and digits of a name, with "-" between its words; at most 60 characters."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_MAX_SLUG_CHARS].rstrip("-")


def document_id(source_file_path: str) -> str:
    """A readable id of ASCII letters, digits and "-", of at most 71 characters, for a file's name.

    It begins with the slug of the root's name, so that the documents of a root can be listed by prefix.
    """
    digest = hashlib.sha256(source_file_path.encode()).hexdigest()[:10]
    return f"{slug_of(source_file_path)}-{digest}"


def uploaded_path(name: str) -> str:
    """The `source_file_path` of an uploaded file: `uploads/` and its name, composed (NFC).

    Raises InvalidInput, whose message can be shown, unless this is the plain name of a file of a known type.
    """
    composed = compose_name(name)
    if (objection := _find_objection(composed)) is not None:
        raise InvalidInput(objection)
    return f"{UPLOADS}/{composed}"


def compose_name(name: str) -> str:
    """A name in composed Unicode (NFC), as documents have it.

    Some systems decompose the letters in names ("o" and a diaeresis for "ö", three letters for a Korean syllable); the
    same file of two machines is one document.
    """
    return unicodedata.normalize("NFC", name)


def _find_objection(name: str) -> str | None:
    if "/" in name or "\\" in name or not name:
        return "Name the file, without a directory."
    if name.startswith("."):
        return "The name begins with a dot, as those of hidden files do. Rename the file."
    if not is_visible(name):
        return "The name has a line break or another character that cannot be shown. Rename the file."
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"The name is longer than {MAX_NAME_BYTES} bytes. Rename the file."
    if _FORM_VARIABLE in name:
        return f"The storage would replace {_FORM_VARIABLE} in the name. Rename the file."
    return None if extension_of(name) in FORMATS else f"The file {describe_unknown_type()}."


def is_visible(name: str) -> bool:
    """Whether all of a composed name can be seen: nothing breaks the line, hides or reorders what stands beside it.

    Spaces of any width can, such as the ideographic one, or the narrow one in macOS's names of screenshots.
    """
    return text.clean(name) == name and all(
        char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs" for char in name
    )
