"""Reads Word documents (DOCX) by way of HTML: headings, lists, tables, notes, text boxes, formulas and charts."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from xml.etree.ElementTree import Element

import mammoth
from bs4 import BeautifulSoup, Tag

from gleaner_documents.model import BrokenFile, Document
from gleaner_documents.readers._archive import open_archive
from gleaner_documents.readers._notes import place_notes
from gleaner_documents.readers._ooxml import core_title, parse_part
from gleaner_documents.readers._tables import has_header
from gleaner_documents.readers._word_content import complete_text
from gleaner_documents.readers.html import collect_sections, parse_html

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STYLES = "word/styles.xml"
_MAX_STYLE_DEPTH = 20
_MAX_HEADING_LEVEL = 6
# Word keeps the names of its own styles in English in every language. A table of contents repeats the headings.
_STYLE_MAP = """\
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='Preformatted Text'] => pre:separator('\\n')
p[style-name='TOC Heading'] => !
p[style-name='Contents Heading'] => !
strike => del
"""
_CONTENTS_STYLES = "\n".join(
    f"p[style-name='{name} {level}'] => !" for name in ("toc", "Contents") for level in range(1, 10)
)


def read_word(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document as it reads with all changes accepted, without comments, page headers and page footers.

    Its title is that of the properties, else the first H1, else `fallback_title`. Raises BrokenFile and RefusedFile.
    """
    archive = open_archive(source_file_path, data)
    try:
        html = mammoth.convert_to_html(
            BytesIO(complete_text(archive, data)),
            style_map="\n".join((_STYLE_MAP, _CONTENTS_STYLES, *_heading_styles(archive))),
            include_embedded_style_map=False,
            convert_image=mammoth.images.img_element(lambda _: {}),  # the alternative text alone
        ).value
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError) as error:
        raise BrokenFile(source_file_path, "is damaged or no DOCX file") from error
    soup = parse_html(html)
    place_notes(_find_notes(soup))
    _mark_headers(soup)
    collector = collect_sections(soup, base_url=source_url)
    return Document(
        source_file_path=source_file_path,
        title=core_title(archive) or collector.first_h1 or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _heading_styles(archive: zipfile.ZipFile) -> list[str]:
    """Rules for the styles with an outline level, which makes them headings whatever their name is."""
    styles = parse_part(archive, _STYLES)
    if styles is None:
        return []
    by_id = {style.get(f"{_W}styleId", ""): style for style in styles.iter(f"{_W}style")}
    rules = []
    for style in by_id.values():
        name = _value(style.find(f"{_W}name"))
        level = _outline_level(style, by_id)
        if name and level is not None and level <= _MAX_HEADING_LEVEL and "'" not in name and "\\" not in name:
            rules.append(f"p[style-name='{name}'] => h{level}:fresh")
    return rules


def _outline_level(style: Element, by_id: dict[str, Element]) -> int | None:
    for _ in range(_MAX_STYLE_DEPTH):
        level = _value(style.find(f"{_W}pPr/{_W}outlineLvl"))
        if level.isdecimal():
            return int(level) + 1
        parent = by_id.get(_value(style.find(f"{_W}basedOn")))
        if parent is None:
            return None
        style = parent
    return None


def _value(element: Element | None) -> str:
    return element.get(f"{_W}val", "") if element is not None else ""


def _find_notes(soup: BeautifulSoup) -> Iterator[tuple[Tag, Tag]]:
    """The references to footnotes and endnotes with the notes, as mammoth writes them."""
    notes = {
        str(item["id"]): item
        for item in soup.find_all("li", id=True)
        if str(item["id"]).startswith(("footnote-", "endnote-"))
    }
    for reference in soup.find_all("a", href=True):
        note = None if reference.decomposed else notes.get(str(reference["href"]).removeprefix("#"))
        if note is None:
            continue
        for back in note.find_all("a", href=lambda href: href is not None and "note-ref-" in href):
            back.decompose()
        if reference.parent is not None and reference.parent.name == "sup":
            reference.parent.unwrap()
        yield reference, note


def _mark_headers(soup: BeautifulSoup) -> None:
    """Make the first row of a table its header, as nearly every writer means it and few mark it; drop empty rows."""
    for table in soup.find_all("table"):
        rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
        if table.find("th") is None and len(rows) > 1:
            first, second = ([cell.get_text(" ") for cell in row.find_all("td", recursive=False)] for row in rows[:2])
            if len(first) > 1 and has_header([first, second]):
                for cell in rows[0].find_all("td", recursive=False):
                    cell.name = "th"
        for row in rows:
            if not row.get_text(strip=True):
                row.decompose()
