"""Makes small PDF files for tests."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

from pypdf import PdfWriter
from pypdf.annotations import Link
from pypdf.constants import PageLabelStyle
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, Fit, FloatObject, NameObject

LINE_HEIGHT = 14


class Text(NamedTuple):
    """Characters at a place of the page, in points from its lower left corner; each is half as wide as it is high."""

    x: float
    y: float
    characters: str
    size: float = 12


def make_pdf(
    pages: Sequence[str | Sequence[Text]],
    *,
    title: str | None = None,
    bookmarks: Sequence[tuple[str, int, str | None] | tuple[str, int, str | None, float]] = (),
    labels: Sequence[tuple[int, int, PageLabelStyle, str]] = (),
    links: Sequence[tuple[Text, str]] = (),
) -> bytes:
    """Make a PDF with a text on each page: lines separated by "\\n", or texts at places.

    A bookmark is its name, page from 0, parent and, if it has one, height on the page. A range of labels is its first
    and last page from 0, style and prefix. A link of the first page is the place of its words, and its address.
    """
    writer = PdfWriter()
    for content in pages:
        texts = _lines(content) if isinstance(content, str) else content
        _add_page(writer, texts)
    if title:
        writer.add_metadata({"/Title": title})
    items: dict[str, Any] = {}
    for name, page_number, parent, *height in bookmarks:
        items[name] = writer.add_outline_item(
            title=name,
            page_number=page_number,
            parent=items[parent] if parent else None,
            fit=Fit.xyz(left=0, top=height[0]) if height else Fit.fit(),
        )
    for first, last, style, prefix in labels:
        writer.set_page_label(first, last, style=style, prefix=prefix)
    for text, address in links:
        end = text.x + len(text.characters) * text.size / 2
        writer.add_annotation(0, Link(rect=(text.x, text.y - 3, end, text.y + text.size - 2), url=address))
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def column(x: float, y: float, text: str, size: float = 12) -> list[Text]:
    """The lines of `text`, one under the other."""
    return [Text(x, y - LINE_HEIGHT * index, line, size) for index, line in enumerate(text.split("\n"))]


def _lines(text: str) -> list[Text]:
    return column(20, 380, text) if text else []


def _add_page(writer: PdfWriter, texts: Sequence[Text]) -> None:
    page = writer.add_blank_page(width=600, height=400)
    characters = "".join(sorted({character for text in texts for character in text.characters}))
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): _make_font(writer, characters)})}
    )
    content = DecodedStreamObject()
    operators = []
    for text in texts:
        codes = "".join(f"{characters.index(character) + 1:04x}" for character in text.characters)
        operators.append(f"BT /F1 {text.size} Tf {text.x} {text.y} Td <{codes}> Tj ET")
    content.set_data("\n".join(operators).encode())
    page[NameObject("/Contents")] = writer._add_object(content)


def _make_font(writer: PdfWriter, characters: str) -> DictionaryObject:
    """A font of two-byte codes that says which character each is (ISO 32000-1, sections 9.7.6 and 9.10.3)."""
    mapping = DecodedStreamObject()
    rows = "".join(
        f"1 beginbfchar\n<{code:04x}> <{character.encode('utf-16-be').hex()}>\nendbfchar\n"
        for code, character in enumerate(characters, start=1)
    )
    mapping.set_data(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Test def /CMapType 2 def\n"
        f"1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n{rows}endcmap end end".encode()
    )
    descendant = _names(Type="Font", Subtype="CIDFontType2", BaseFont="Helvetica")
    descendant[NameObject("/DW")] = FloatObject(500)
    descendant[NameObject("/CIDSystemInfo")] = DictionaryObject()
    font = _names(Type="Font", Subtype="Type0", BaseFont="Helvetica", Encoding="Identity-H")
    font[NameObject("/DescendantFonts")] = ArrayObject([descendant])
    font[NameObject("/ToUnicode")] = writer._add_object(mapping)
    return font


def _names(**names: str) -> DictionaryObject:
    return DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in names.items()})
