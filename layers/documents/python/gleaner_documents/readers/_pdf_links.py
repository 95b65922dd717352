"""Reads the links of a PDF page, which lie over its text, and tells which words they lie over."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

_MAX_LINKS = 1_000  # of a page; every word is looked up among them
_MAX_ADDRESS_BYTES = 4_096


class Link(NamedTuple):
    """An address and the box of the words that lead to it, in points as in the file."""

    address: str
    left: float
    bottom: float
    right: float
    top: float


def read_links(page: pdfium.PdfPage) -> list[Link]:
    """The links of the page that lead to an address; those within the document have none."""
    links: list[Link] = []
    position, annotation, box = ctypes.c_int(0), pdfium_c.FPDF_LINK(), pdfium_c.FS_RECTF()
    for _ in range(_MAX_LINKS):
        if not pdfium_c.FPDFLink_Enumerate(page, position, annotation):
            break
        address = _read_address(page, annotation)
        if address and pdfium_c.FPDFLink_GetAnnotRect(annotation, box):
            links.append(Link(address, box.left, box.bottom, box.right, box.top))
    return links


def _read_address(page: pdfium.PdfPage, annotation: pdfium_c.FPDF_LINK) -> str:
    action = pdfium_c.FPDFLink_GetAction(annotation)
    if not action or pdfium_c.FPDFAction_GetType(action) != pdfium_c.PDFACTION_URI:
        return ""
    buffer = ctypes.create_string_buffer(_MAX_ADDRESS_BYTES)
    size = pdfium_c.FPDFAction_GetURIPath(page.pdf, action, buffer, _MAX_ADDRESS_BYTES)
    return buffer.value.decode("utf-8", "replace") if 0 < size <= _MAX_ADDRESS_BYTES else ""


def find_address(links: Iterable[Link], x: float, y: float) -> str:
    """The address behind the point, or ""."""
    return next((link.address for link in links if link.left <= x <= link.right and link.bottom <= y <= link.top), "")
