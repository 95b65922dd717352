"""Reads the table of contents of a book: the navigation document of EPUB 3 or the NCX of EPUB 2."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote, urldefrag
from xml.etree.ElementTree import Element

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PreformattedString

from gleaner_documents.readers._ooxml import parse_part
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers.html import parse_html

_NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
_MAX_DEPTH = 6  # HTML also has six levels of headings

_NUMBER = re.compile(r"^(?:\w+ )?\d+[.:)\s]+")
_MAX_TITLE_STRINGS = 10
_HEADING = re.compile("^h[1-6]$")
_INLINE = frozenset("a abbr b big br cite code em i img kbd q s small span strong sub sup tt u".split())


class Entry(NamedTuple):
    """The path of a page, the id of a place in it or "", and the titles from the outermost one down."""

    path: str
    place: str
    titles: tuple[str, ...]


Contents = dict[str, list[Entry]]


def read_contents(archive: zipfile.ZipFile, package: Element, paths: Mapping[str, str]) -> Contents:
    """The entries by the path of their page. `paths` are the book's files by their id."""
    for element in package.iter():
        name = str(element.tag).rpartition("}")[2]
        path = paths.get(element.get("id", ""), "")
        if name == "item" and "nav" in element.get("properties", "").split() and path in archive.namelist():
            return _by_page(_navigation(archive.read(path).decode("utf-8", "replace"), dirname(path)))
    for element in package.iter():
        if str(element.tag).rpartition("}")[2] == "spine" and (path := paths.get(element.get("toc", ""), "")):
            ncx = parse_part(archive, path)
            root = ncx.find(f"{_NCX}navMap") if ncx is not None else None
            return _by_page(_ncx_entries(root, dirname(path), ())) if root is not None else {}
    return {}


def shared_titles(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The titles that all entries of a page stand under; those of its only entry."""
    levels = zip(*(entry.titles for entry in entries), strict=False)
    return tuple(titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels))


def place_titles(page: BeautifulSoup, entries: Sequence[Entry]) -> None:
    """Put the titles of several entries where they point, as headings, unless a heading stands there.

    Books of some programs have paragraphs instead of headings; one that holds the title becomes the heading.
    """
    depth = len(shared_titles(entries))
    places = _find_places(page) if any(len(entry.titles) > depth for entry in entries) else {}
    for entry in entries:
        place = places.get(entry.place)
        if len(entry.titles) == depth or place is None or _starts_with_heading(place):
            continue
        while place.name in _INLINE and place.parent is not None:
            place = place.parent
        name = f"h{len(entry.titles) - depth}"
        if title_core(" ".join(islice(place.stripped_strings, _MAX_TITLE_STRINGS))) == title_core(entry.titles[-1]):
            place.name = name
        else:
            heading = page.new_tag(name)
            heading.string = entry.titles[-1]
            place.insert_before(heading)


def _find_places(page: BeautifulSoup) -> dict[str, Tag]:
    """The elements of a page by their id or name, and its first one by ""."""
    places: dict[str, Tag] = {}
    for tag in page.find_all(True):
        for name in (tag.get("id"), tag.get("name") if tag.name == "a" else None):
            if name:
                places.setdefault(str(name), tag)
    first = (page.body or page).find()
    return {**places, "": first} if isinstance(first, Tag) else places


def _starts_with_heading(place: Tag) -> bool:
    """Whether the first words from the place on are those of a heading."""
    texts = (node for node in place.next_elements if isinstance(node, NavigableString) and node.strip())
    first = next((text for text in texts if not isinstance(text, PreformattedString)), None)
    return first is not None and first.find_parent(_HEADING) is not None


def title_core(title: str) -> str:
    """A title without its number, which pages and contents write differently: "Chapter 1. Ships" and "1: Ships"."""
    return _NUMBER.sub("", shorten(title)).casefold() or title


def _by_page(entries: Iterator[Entry]) -> Contents:
    pages: Contents = {}
    for entry in entries:
        pages.setdefault(entry.path, []).append(entry)
    return pages


def _entry(base: str, href: str, titles: tuple[str, ...]) -> Entry:
    address, place = urldefrag(href)
    return Entry(normpath(join(base, unquote(address))), unquote(place), titles)


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
            yield _entry(base, href, titles)
        inner = item.find("ol", recursive=False)
        if isinstance(inner, Tag) and len(titles) < _MAX_DEPTH:
            yield from _list_entries(inner, base, titles)


def _ncx_entries(point: Element, base: str, above: tuple[str, ...]) -> Iterator[Entry]:
    for child in point.findall(f"{_NCX}navPoint"):
        title = shorten(child.findtext(f"{_NCX}navLabel/{_NCX}text") or "")
        titles = (*above, title) if title else above
        content = child.find(f"{_NCX}content")
        if content is not None and (source := content.get("src")):
            yield _entry(base, source, titles)
        if len(titles) < _MAX_DEPTH:
            yield from _ncx_entries(child, base, titles)
