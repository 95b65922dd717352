"""The addresses of files whose directory is published as a site."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote, urlsplit

from gleaner.addresses import is_page_address

# Site generators publish these as directories: `guide/moor.md` as `guide/moor/`.
_MARKDOWN = (".md", ".markdown", ".mdx")
_WITH_INDEX = (*_MARKDOWN, ".html", ".htm", ".xhtml")
_INDEX_NAMES = ("index", "_index", "readme")


def is_base_url(value: str) -> bool:
    """Whether `value` may be the address of a directory: an http or https URL without a query and a fragment."""
    if not is_page_address(value):
        return False
    parts = urlsplit(value)
    return not (parts.query or parts.fragment or value.endswith(("?", "#")))


def page_url(base_url: str, path: str) -> str | None:
    """The address of the file at `path` in a directory that is published at `base_url`; None if it is too long.

    An index or README page has the address of its directory, `guide/moor.md` is at `guide/moor/`, as MkDocs, Hugo and
    others publish it, and any other file is at its own path.
    """
    file = PurePosixPath(path)
    suffix = file.suffix.lower()
    if suffix in _WITH_INDEX and file.stem.lower() in _INDEX_NAMES:
        parts = file.parts[:-1]
    else:
        parts = file.with_suffix("").parts if suffix in _MARKDOWN else file.parts
    is_directory = suffix in _MARKDOWN or len(parts) < len(file.parts)
    below = "".join(f"/{quote(part)}" for part in parts)
    url = base_url.rstrip("/") + below + ("/" if is_directory else "")
    return url if is_page_address(url) else None
