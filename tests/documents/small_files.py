"""Builds small files of the formats that are archives, with no more in them than a test needs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

from openpyxl import Workbook
from pptx import Presentation

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def make_zip(parts: Mapping[str, str | bytes]) -> bytes:
    """An archive of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def parts_of(data: bytes) -> dict[str, bytes]:
    """The parts of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of WordprocessingML."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def make_docx(
    body: str, *, doctype: str = "", title: str = "", parts: Mapping[str, str | bytes] | None = None, links: str = ""
) -> bytes:
    """A Word document with this body; `links` are the relationships of the body."""
    core = f'<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></x>'
    main = f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    return make_zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{main}</Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
            "word/document.xml": f"{doctype}<w:document {_W}><w:body>{body}</w:body></w:document>",
            "docProps/core.xml": core,
            **(parts or {}),
        }
    )


def word_part(name: str, content: str) -> str:
    """A part of a Word document, such as its styles."""
    return f"<w:{name} {_W}>{content}</w:{name}>"


def relationship(kind: str, target: str) -> str:
    """A relationship of a Word document's body."""
    return f'<Relationship Id="{kind}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def make_xlsx(rows: Sequence[Sequence[object]]) -> bytes:
    """A spreadsheet of one sheet, called "Sheet"."""
    workbook = Workbook()
    for row in rows:
        workbook.active.append(row)
    return save(workbook)


def make_pptx(text: str) -> bytes:
    """A presentation of one slide with one text box."""
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = text
    return save(presentation)


def save(document: Workbook | object) -> bytes:
    """The bytes of a workbook or presentation."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def make_epub(pages: Mapping[str, str], *, title: str = "A book", nav: str = "", spine: str = "") -> bytes:
    """A book of these pages; `nav` is the list in its navigation document."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages)
    order = spine or "".join(f'<itemref idref="{name}"/>' for name in pages)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        f"<spine>{order}</spine></package>"
    )
    return make_zip(
        {
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": package,
            "OPS/nav.xhtml": f'<html><body><nav epub:type="toc"><ol>{nav}</ol></nav></body></html>',
            **{f"OPS/{name}": page for name, page in pages.items()},
        }
    )
