"""Writes what stands on a slide as HTML: text, lists, tables, charts and diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree  # entities were refused when the archive was opened

from gleaner_documents.readers._office_charts import (
    DIAGRAM_DATA,
    DIAGRAM_IDS,
    DIAGRAM_REFERENCE,
    A,
    C,
    read_chart,
    read_diagram,
)
from gleaner_documents.readers._office_math import write_formulas

# Where a text has a formula, the body of the slide is an alternative for programs that know formulas.
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def unwrap_alternatives(tree: Any) -> None:
    """Put in place of each alternative of the shape tree the shapes for programs that know all that Office does."""
    for alternative in list(tree.iter(f"{_COMPATIBILITY}AlternateContent")):
        choice = alternative.find(f"{_COMPATIBILITY}Choice")
        for shape in [] if choice is None else list(choice):
            alternative.addprevious(shape)
        alternative.getparent().remove(alternative)


def write_shape(shape: Any) -> str:
    """A shape as HTML; pictures and media give none."""
    if shape.has_text_frame:
        return write_paragraphs(shape.text_frame.paragraphs, is_list=shape.is_placeholder)
    if getattr(shape, "has_table", False):
        return _write_table(shape.table)
    if getattr(shape, "has_chart", False):
        return _write_chart(shape.chart_part.chart._chartSpace.find(f"{C}chart"))
    return "".join(f"<p>{escape(text)}</p>" for text in _diagram_texts(shape))


def write_paragraphs(paragraphs: Iterable[Any], *, is_list: bool = False) -> str:
    """Paragraphs as HTML. The body of a slide (`is_list`) is a list in nearly all designs if it has several."""
    written = [(paragraph.level, html) for paragraph in paragraphs if (html := _write_runs(paragraph)).strip()]
    if not is_list or len(written) < 2:  # noqa: PLR2004 - one paragraph is no list
        return "".join(f"<p>{html}</p>" for _, html in written)
    parts: list[str] = []
    open_lists = 0
    for level, html in written:
        while open_lists > level + 1:
            parts.append("</ul>")
            open_lists -= 1
        while open_lists <= level:
            parts.append("<ul>")
            open_lists += 1
        parts.append(f"<li>{html}</li>")
    return "".join(parts) + "</ul>" * open_lists


def _write_runs(paragraph: Any) -> str:
    """The text of a paragraph with its links. Fields and line breaks are no runs, so all children are visited."""
    links = {id(run._r): _address(run) for run in paragraph.runs}
    parts: list[str] = []
    for child in paragraph._p:
        if child.tag == f"{A}br":
            parts.append("<br/>")
            continue
        is_formula = child.tag == _FORMULA
        html = escape(write_formulas(child) if is_formula else "".join(child.itertext(f"{A}t")))
        address = links.get(id(child))
        parts.append(f'<a href="{escape(address)}">{html}</a>' if address else html)
    return "".join(parts)


def _address(run: Any) -> str | None:
    try:
        return str(run.hyperlink.address or "") or None
    except KeyError:  # a link to an action of the program
        return None


def _write_table(table: Any) -> str:
    rows: list[str] = []
    for number, row in enumerate(table.rows):
        name = "th" if number == 0 and table.first_row else "td"
        cells = (
            f'<{name} colspan="{cell.span_width}" rowspan="{cell.span_height}">{_write_cell(cell)}</{name}>'
            for cell in row.cells
            if not cell.is_spanned
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _write_cell(cell: Any) -> str:
    return "<br/>".join(map(_write_runs, cell.text_frame.paragraphs))


def _write_chart(chart: Any) -> str:
    title, rows = read_chart(chart)
    caption = f"<p>{escape(title)}</p>" if title else ""
    return caption + _write_plain_table(rows) if rows else caption


def _write_plain_table(rows: Sequence[Sequence[str]]) -> str:
    names = ["th"] + ["td"] * (len(rows) - 1)
    return (
        "<table>"
        + "".join(
            "<tr>" + "".join(f"<{name}>{escape(cell)}</{name}>" for cell in row) + "</tr>"
            for name, row in zip(names, rows, strict=True)
        )
        + "</table>"
    )


def _diagram_texts(shape: Any) -> Iterator[str]:
    """The texts of a SmartArt diagram, which stand in a part of their own."""
    for ids in shape._element.iter(DIAGRAM_IDS):
        relation = shape.part.rels.get(ids.get(DIAGRAM_REFERENCE))
        if relation is None or relation.reltype != DIAGRAM_DATA or relation.is_external:
            continue
        yield from read_diagram(ElementTree.fromstring(relation.target_part.blob))  # noqa: S314 - see the import
