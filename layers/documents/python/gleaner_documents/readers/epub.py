"""Reads EPUB books (EPUB 2 and 3): XHTML pages in the order of the spine, under the titles of the contents."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from bs4.dammit import EncodingDetector

from gleaner_documents.model import HEADING_SEPARATOR, BrokenFile, Document, Section
from gleaner_documents.readers._archive import open_archive
from gleaner_documents.readers._book_contents import place_titles, read_contents, shared_titles, title_core
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._ooxml import parse_part
from gleaner_documents.readers._sections import shorten
from gleaner_documents.readers.html import collect_sections, parse_html

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGE_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


class _Item(NamedTuple):
    path: str
    media_type: str
    properties: frozenset[str]


def read_epub(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The book; its title is that of its metadata, else the first H1, else `fallback_title`.

    Pages outside the reading order and the list of contents are left out. Raises BrokenFile, RefusedFile and NotText.
    """
    archive = open_archive(source_file_path, data)
    package_path = _package_path(archive)
    package = parse_part(archive, package_path)
    if package is None:
        raise BrokenFile(source_file_path, "is damaged or no EPUB book")
    items = _items(package, package_path)
    pages = [item.path for item in _spine(package, items)]
    if _encrypted_paths(archive) & set(pages):
        raise BrokenFile(source_file_path, "is protected against copying")
    contents = read_contents(archive, package, {key: item.path for key, item in items.items()})
    sections: list[Section] = []
    first_h1 = None
    chapter: tuple[str, ...] = ()
    for path in pages:
        page = parse_html(_read_page(source_file_path, archive, path))
        entries = contents.get(path, [])
        first_h1 = first_h1 or next((shorten(heading.get_text()) for heading in page.find_all("h1")), None)
        if entries:
            chapter = shared_titles(entries)
            place_titles(page, entries)
        own = collect_sections(page).sections
        sections += (replace(section, chapter=_join(chapter, section.chapter)) for section in own)
        chapter = entries[-1].titles if entries else chapter  # of the pages that follow without an entry
    title = shorten(next((element.text or "" for element in _descendants(package, "title")), ""))
    return Document(
        source_file_path=source_file_path,
        title=title or first_h1 or fallback_title,
        sections=tuple(sections),
        source_url=source_url,
    )


def _package_path(archive: zipfile.ZipFile) -> str:
    container = parse_part(archive, _CONTAINER)
    rootfiles = _descendants(container, "rootfile") if container is not None else iter(())
    return next((path for element in rootfiles if (path := element.get("full-path"))), "")


def _descendants(root: Element, name: str) -> Iterator[Element]:
    """The elements of a name in any namespace: books declare several, and some none."""
    return (element for element in root.iter() if str(element.tag).rpartition("}")[2] == name)


def _items(package: Element, package_path: str) -> dict[str, _Item]:
    base = dirname(package_path)
    return {
        element.get("id", ""): _Item(
            path=normpath(join(base, unquote(element.get("href", "")))),
            media_type=element.get("media-type", ""),
            properties=frozenset(element.get("properties", "").split()),
        )
        for element in _descendants(package, "item")
    }


def _spine(package: Element, items: dict[str, _Item]) -> Iterator[_Item]:
    for reference in _descendants(package, "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or item.media_type not in _PAGE_TYPES or "nav" in item.properties:
            continue
        if reference.get("linear") != "no":
            yield item


def _encrypted_paths(archive: zipfile.ZipFile) -> set[str]:
    encryption = parse_part(archive, _ENCRYPTION)
    if encryption is None:
        return set()
    return {normpath(unquote(element.get("URI", ""))) for element in _descendants(encryption, "CipherReference")}


def _read_page(source_file_path: str, archive: zipfile.ZipFile, path: str) -> str:
    try:
        data = archive.read(path)
    except KeyError:  # a page that the book names but does not hold
        return ""
    except (zipfile.BadZipFile, zlib.error) as error:
        raise BrokenFile(source_file_path, "is damaged") from error
    return decode(source_file_path, data, declared=EncodingDetector.find_declared_encoding(data))


def _join(chapter: tuple[str, ...], headings: str | None) -> str | None:
    """The titles of the contents, then the headings of the page, without those that both have."""
    names = headings.split(HEADING_SEPARATOR) if headings else []
    cores = [title_core(title) for title in chapter]
    repeated = cores.index(title_core(names[0])) if names and title_core(names[0]) in cores else None
    return HEADING_SEPARATOR.join((*chapter[:repeated], *names)) or None
