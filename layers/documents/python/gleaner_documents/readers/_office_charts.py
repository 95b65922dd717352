"""Reads the numbers of charts and the texts of diagrams of Office files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gleaner_documents.readers._number_formats import show_value

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DIAGRAM_DATA = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
DIAGRAM_IDS = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
DIAGRAM_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_MAX_CATEGORIES = 500


class Chart(NamedTuple):
    """The title of a chart, and a row for each category below the names of the series; no rows without numbers."""

    title: str
    rows: list[list[str]]


def read_chart(chart: Any) -> Chart:
    """Read a `c:chart` element."""
    title = "".join(text.text or "" for title in chart.findall(f"{C}title") for text in title.iter(f"{A}t"))
    series = list(chart.iter(f"{C}ser"))
    categories = next(filter(None, (_points(one, ("cat", "xVal")) for one in series)), {})
    values = [_points(one, ("val", "yVal")) for one in series]
    if not any(values):
        return Chart(title, [])
    names = [" ".join(_points(one, ("tx",)).values()) for one in series]
    indexes = sorted({index for points in (categories, *values) for index in points})[:_MAX_CATEGORIES]
    rows = [[categories.get(index, ""), *(points.get(index, "") for points in values)] for index in indexes]
    return Chart(title, [["", *names], *rows])


def read_diagram(data: Any) -> Iterator[str]:
    """The texts of a SmartArt diagram, from the root of its data."""
    for paragraph in data.iter(f"{A}p"):
        if text := "".join(paragraph.itertext()).strip():
            yield text


def _points(series: Any, names: Sequence[str]) -> dict[int, str]:
    """The values that the chart keeps of the cells it was made from, by their index."""
    return {
        int(point.get("idx") or 0): _show_point(point.findtext(f"{C}v") or "")
        for name in names
        for source in series.findall(f"{C}{name}")
        for point in source.iter(f"{C}pt")
    }


def _show_point(text: str) -> str:
    try:
        return show_value(float(text), "General")
    except ValueError:
        return text
