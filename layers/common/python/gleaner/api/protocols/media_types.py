"""The media types of the documents that answers cite, by file extension."""

from __future__ import annotations

from pathlib import PurePosixPath

_OFFICE = "application/vnd.openxmlformats-officedocument."
# A table of our own: that of the machine differs from one machine to the next.
_BY_EXTENSION = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdx": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".pdf": "application/pdf",
    ".docx": f"{_OFFICE}wordprocessingml.document",
    ".pptx": f"{_OFFICE}presentationml.presentation",
    ".xlsx": f"{_OFFICE}spreadsheetml.sheet",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".epub": "application/epub+zip",
    ".ipynb": "application/x-ipynb+json",
    ".rst": "text/x-rst",
    ".eml": "message/rfc822",
}


def media_type_of(path: str) -> str:
    """The media type of a document by the extension of its path; plain text if there is none that is known."""
    return _BY_EXTENSION.get(PurePosixPath(path).suffix.lower(), "text/plain")
