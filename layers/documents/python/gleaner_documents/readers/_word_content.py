"""Adds to the text of a Word document what mammoth leaves out: formulas, charts, diagrams and the text of drop caps."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from posixpath import join, normpath
from xml.etree import ElementTree  # entities were refused when the archive was opened
from xml.etree.ElementTree import Element, SubElement

from gleaner_documents.readers._office_charts import DIAGRAM_IDS, DIAGRAM_REFERENCE, C, read_chart, read_diagram
from gleaner_documents.readers._office_math import M, write_formulas
from gleaner_documents.readers._ooxml import parse_part

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TEXT_PART = re.compile(r"word/[^/]+\.xml")
_MEDIA = "word/media/"
_FORMULAS = (f"{M}oMathPara", f"{M}oMath")
# A part without any of these is left as it is.
_SIGNS = (b"oMath", b"dropCap", b"drawingml/2006/chart", b"drawingml/2006/diagram")


def complete_text(archive: zipfile.ZipFile, data: bytes) -> bytes:
    """The document `data`, with these as paragraphs, tables and words, and without pictures if anything was added."""
    parts = {name: archive.read(name) for name in archive.namelist() if _TEXT_PART.fullmatch(name)}
    changed = {
        name: _complete(archive, name)
        for name, content in parts.items()
        if any(sign in content for sign in _SIGNS) and parse_part(archive, name) is not None
    }
    if not changed:
        return data
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as completed:
        for name in dict.fromkeys(archive.namelist()):
            if not name.startswith(_MEDIA):
                completed.writestr(name, changed[name] if name in changed else archive.read(name))
    return buffer.getvalue()


def _complete(archive: zipfile.ZipFile, name: str) -> bytes:
    root = parse_part(archive, name)
    if root is None:
        raise AssertionError("only parts that can be parsed are completed")
    relations = _relations(archive, name)
    for parent in list(root.iter()):
        _write_formulas(parent)
        _join_drop_caps(parent)
        _add_drawings(archive, parent, relations)
    return ElementTree.tostring(root)


def _relations(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """The paths of the parts that a part refers to, by the id of the relation."""
    folder, _, file = name.rpartition("/")
    relations = parse_part(archive, f"{folder}/_rels/{file}.rels")
    return {
        relation.get("Id", ""): normpath(join("/", folder, relation.get("Target", ""))).removeprefix("/")
        for relation in ([] if relations is None else relations.iter(_RELATIONSHIP))
        if relation.get("TargetMode") != "External"
    }


def _write_formulas(parent: Element) -> None:
    for index, child in enumerate(parent):
        if child.tag in _FORMULAS:
            parent[index] = _run(write_formulas(child))


def _join_drop_caps(parent: Element) -> None:
    """Put a large initial, which is a paragraph of its own, before the paragraph that it begins."""
    for initial, following in pairwise(list(parent)):
        frame = initial.find(f"{_W}pPr/{_W}framePr")
        if frame is None or frame.get(f"{_W}dropCap") not in ("drop", "margin") or following.tag != f"{_W}p":
            continue
        start = 1 if following.find(f"{_W}pPr") is not None else 0
        following[start:start] = [child for child in initial if child.tag != f"{_W}pPr"]
        parent.remove(initial)


def _add_drawings(archive: zipfile.ZipFile, parent: Element, relations: Mapping[str, str]) -> None:
    """Put the numbers of charts and the texts of diagrams below their paragraphs."""
    for child in list(parent):
        if child.tag != f"{_W}p" or child.find(f".//{_W}p") is not None:  # the paragraph of a text box has others in it
            continue
        blocks = [block for drawing in child.iter() for block in _read_drawing(archive, drawing, relations)]
        place = list(parent).index(child) + 1
        parent[place:place] = blocks


def _read_drawing(archive: zipfile.ZipFile, drawing: Element, relations: Mapping[str, str]) -> Iterator[Element]:
    if drawing.tag == f"{C}chart":
        space = parse_part(archive, relations.get(drawing.get(f"{_R}id", ""), ""))
        chart = space.find(f"{C}chart") if space is not None else None
        if chart is not None:
            title, rows = read_chart(chart)
            yield from ([_paragraph(title)] if title else [])
            yield from ([_table(rows)] if rows else [])
    elif drawing.tag == DIAGRAM_IDS:
        data = parse_part(archive, relations.get(drawing.get(DIAGRAM_REFERENCE, ""), ""))
        yield from map(_paragraph, [] if data is None else read_diagram(data))


def _run(text: str) -> Element:
    run = Element(f"{_W}r")
    SubElement(run, f"{_W}t").text = text
    return run


def _paragraph(text: str) -> Element:
    paragraph = Element(f"{_W}p")
    paragraph.append(_run(text))
    return paragraph


def _table(rows: Sequence[Sequence[str]]) -> Element:
    table = Element(f"{_W}tbl")
    for cells in rows:
        row = SubElement(table, f"{_W}tr")
        for cell in cells:
            SubElement(row, f"{_W}tc").append(_paragraph(cell))
    return table
