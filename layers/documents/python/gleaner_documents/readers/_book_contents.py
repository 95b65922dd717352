"""Reads the table of contents of a book: the navigation document of EPUB 3 or the NCX of EPUB 2."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urldefrag
from xml.etree.ElementTree import Element

from bs4 import Tag

from gleaner_documents.readers._ooxml import parse_part
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers.html import parse_html

_NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
_MAX_DEPTH = 6  # HTML also has six levels of headings

Entry = tuple[str, tuple[str, ...]]  # the path of a page, and the titles from the outermost one down


def read_contents(archive: zipfile.ZipFile, package: Element, paths: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """By the path of a page: the titles of its first entry. `paths` are the book's files by their id."""
    for element in package.iter():
        name = str(element.tag).rpartition("}")[2]
        path = paths.get(element.get("id", ""), "")
        if name == "item" and "nav" in element.get("properties", "").split() and path in archive.namelist():
            return _first_entries(_navigation(archive.read(path).decode("utf-8", "replace"), dirname(path)))
    for element in package.iter():
        if str(element.tag).rpartition("}")[2] == "spine" and (path := paths.get(element.get("toc", ""), "")):
            ncx = parse_part(archive, path)
            root = ncx.find(f"{_NCX}navMap") if ncx is not None else None
            return _first_entries(_ncx_entries(root, dirname(path), ())) if root is not None else {}
    return {}


def _first_entries(entries: Iterator[Entry]) -> dict[str, tuple[str, ...]]:
    first: dict[str, tuple[str, ...]] = {}
    for path, titles in entries:
        first.setdefault(path, titles)
    return first


def _target(base: str, href: str) -> str:
    return normpath(join(base, unquote(urldefrag(href).url)))


def _navigation(xhtml: str, base: str) -> Iterator[Entry]:
    navigations = parse_html(xhtml).find_all("nav")
    contents = [nav for nav in navigations if "toc" in str(nav.get("epub:type", "")).split()] or navigations[:1]
    for nav in contents[:1]:
        outermost = nav.find("ol")
        if isinstance(outermost, Tag):
            yield from _list_entries(outermost, base, ())


def _list_entries(items: Tag, base: str, above: tuple[str, ...]) -> Iterator[Entry]:
    for item in items.find_all("li", recursive=False):
        label = item.find(["a", "span"])
        title = shorten(label.get_text()) if isinstance(label, Tag) else ""
        titles = (*above, title) if title else above
        if isinstance(label, Tag) and label.name == "a" and (href := str(label.get("href") or "")):
            yield _target(base, href), titles
        inner = item.find("ol", recursive=False)
        if isinstance(inner, Tag) and len(titles) < _MAX_DEPTH:
            yield from _list_entries(inner, base, titles)


def _ncx_entries(point: Element, base: str, above: tuple[str, ...]) -> Iterator[Entry]:
    for child in point.findall(f"{_NCX}navPoint"):
        title = shorten(child.findtext(f"{_NCX}navLabel/{_NCX}text") or "")
        titles = (*above, title) if title else above
        content = child.find(f"{_NCX}content")
        if content is not None and (source := content.get("src")):
            yield _target(base, source), titles
        if len(titles) < _MAX_DEPTH:
            yield from _ncx_entries(child, base, titles)
