"""Makes small PDF files for tests."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def make_pdf(
    pages: Sequence[str],
    *,
    title: str | None = None,
    bookmarks: Sequence[tuple[str, int, str | None]] = (),
) -> bytes:
    """Make a PDF with a text on each page (lines separated by "\\n") and bookmarks (name, page from 0, parent)."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(width=400, height=400)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        lines = " ".join(f"({line}) Tj 0 -14 Td" for line in text.split("\n")) if text else ""
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 380 Td {lines} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if title:
        writer.add_metadata({"/Title": title})
    items: dict[str, Any] = {}
    for name, page_number, parent in bookmarks:
        items[name] = writer.add_outline_item(
            title=name, page_number=page_number, parent=items[parent] if parent else None
        )
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()
