"""Writes what stands on a slide as HTML: text, lists, tables, charts and diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree  # entities were refused when the archive was opened

from gleaner_documents.readers._number_formats import show_value

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM_DATA = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
_DIAGRAM_IDS = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_MAX_CATEGORIES = 500


def write_shape(shape: Any) -> str:
    """A shape as HTML; pictures and media give none."""
    if shape.has_text_frame:
        return write_paragraphs(shape.text_frame.paragraphs, is_list=shape.is_placeholder)
    if getattr(shape, "has_table", False):
        return _write_table(shape.table)
    if getattr(shape, "has_chart", False):
        return _write_chart(shape.chart_part.chart._chartSpace.find(f"{_C}chart"))
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
        if child.tag == f"{_A}br":
            parts.append("<br/>")
            continue
        html = escape("".join(child.itertext(f"{_A}t")))
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
            f'<{name} colspan="{cell.span_width}" rowspan="{cell.span_height}">{escape(cell.text)}</{name}>'
            for cell in row.cells
            if not cell.is_spanned
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _write_chart(chart: Any) -> str:
    """The numbers that a chart shows: a row for each category under the names of the series."""
    title = "".join(text for title in chart.iterchildren(f"{_C}title") for text in title.itertext(f"{_A}t"))
    caption = f"<p>{escape(title)}</p>" if title else ""
    series = list(chart.iter(f"{_C}ser"))
    categories = next(filter(None, (_points(one, ("cat", "xVal")) for one in series)), {})
    values = [_points(one, ("val", "yVal")) for one in series]
    if not any(values):
        return caption
    names = [" ".join(_points(one, ("tx",)).values()) for one in series]
    indexes = sorted({index for points in (categories, *values) for index in points})[:_MAX_CATEGORIES]
    rows = [[categories.get(index, ""), *(points.get(index, "") for points in values)] for index in indexes]
    return caption + _write_plain_table([["", *names], *rows])


def _points(series: Any, names: Sequence[str]) -> dict[int, str]:
    """The values that the chart keeps of the cells it was made from, by their index."""
    return {
        int(point.get("idx") or 0): _show_point(point.findtext(f"{_C}v") or "")
        for name in names
        for source in series.iterchildren(f"{_C}{name}")
        for point in source.iter(f"{_C}pt")
    }


def _show_point(text: str) -> str:
    try:
        return show_value(float(text), "General")
    except ValueError:
        return text


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
    for ids in shape._element.iter(_DIAGRAM_IDS):
        relation = shape.part.rels.get(ids.get(_DIAGRAM_REFERENCE))
        if relation is None or relation.reltype != _DIAGRAM_DATA or relation.is_external:
            continue
        diagram = ElementTree.fromstring(relation.target_part.blob)  # noqa: S314 - see the import
        for paragraph in diagram.iter(f"{_A}p"):
            if text := "".join(paragraph.itertext()).strip():
                yield text
