"""Reads spreadsheets (XLSX): a chapter for each sheet, its tables in small parts under their headers."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from io import BytesIO
from itertools import islice, zip_longest
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from gleaner_documents.model import BrokenFile, Document
from gleaner_documents.readers._archive import open_archive
from gleaner_documents.readers._cell_links import CellLinks
from gleaner_documents.readers._merged_cells import MergedCells
from gleaner_documents.readers._number_formats import show_value
from gleaner_documents.readers._sections import SectionCollector, shorten
from gleaner_documents.readers._tables import add_rows

# A sheet can have 1,048,576 rows of 16,384 columns. What goes beyond this is left out, and the sheet's text says so.
MAX_ROWS = 100_000  # with a value
MAX_COLUMNS = 1_000
MAX_CELLS = 1_000_000  # of the file, with a value
_MAX_ROW_NUMBER = 1_048_576


def read_spreadsheet(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document, with the visible sheets' values as they are shown; its title is the metadata's, else the name.

    Formulas appear with the result that was saved with them. Raises BrokenFile and RefusedFile.
    """
    archive = open_archive(source_file_path, data)
    try:
        with warnings.catch_warnings():  # openpyxl warns of each extension that it does not know
            warnings.simplefilter("ignore")
            workbook = load_workbook(BytesIO(data), read_only=True, data_only=True)
            with closing(workbook):
                collector = _collect(workbook, archive)
    except (zipfile.BadZipFile, zlib.error, InvalidFileException, KeyError) as error:
        raise BrokenFile(source_file_path, "is damaged or no XLSX file") from error
    title = shorten(str(workbook.properties.title or ""))
    return Document(
        source_file_path=source_file_path,
        title=title or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _collect(workbook: Any, archive: zipfile.ZipFile) -> SectionCollector:
    collector = SectionCollector()
    cells_left = MAX_CELLS
    for sheet in workbook.worksheets:
        if sheet.sheet_state != "visible" or not hasattr(sheet, "reset_dimensions"):  # a chart has no cells
            continue
        collector.open_section(1, sheet.title)
        path = sheet._worksheet_path
        rows = _SheetRows(sheet, MergedCells(archive, path), CellLinks(archive, path), max_cells=cells_left)
        add_rows(collector, _join_headers(rows), level=2)
        cells_left -= rows.cells
        if rows.is_cut:
            collector.add_text(f"The sheet is longer: {rows.count:,} rows were read.")
    return collector


class _SheetRows:
    """Iterates over the rows of a sheet as (cells, whether a cell stands over several columns), within the limits."""

    def __init__(self, sheet: Any, merged: MergedCells, links: CellLinks, *, max_cells: int) -> None:
        sheet.reset_dimensions()  # a file may state any
        self._sheet = sheet
        self._merged = merged
        self._links = links
        self._max_cells = max_cells
        self.count = 0
        self.cells = 0
        self.is_cut = False

    def __iter__(self) -> Iterator[tuple[list[str], bool]]:
        for number, row in enumerate(islice(self._sheet.iter_rows(), _MAX_ROW_NUMBER), start=1):
            texts = [_show(cell) for cell in row[:MAX_COLUMNS]]
            used = sum(map(bool, texts))
            if used and (self.count >= MAX_ROWS or self.cells + used > self._max_cells):
                self.is_cut = True
                return
            self.count += used > 0
            self.cells += used
            self._links.add(number, texts)
            yield texts, self._merged.fill(number, texts)


def _show(cell: Any) -> str:
    value = cell.value
    return value if isinstance(value, str) else show_value(value, cell.number_format) if value is not None else ""


def _join_headers(rows: Iterable[tuple[list[str], bool]]) -> Iterator[list[str]]:
    """Join header rows: below a header over several columns, the next row holds the headers of each column."""
    upper: list[str] | None = None
    at_start = True
    for row, spans_columns in rows:
        cells = _join(upper, row) if upper else row
        at_start = at_start or upper is not None
        upper = None
        if spans_columns and at_start:
            upper = cells
            continue
        yield cells
        at_start = sum(map(bool, cells)) <= 1  # an empty row, or a caption
    if upper:
        yield upper


def _join(upper: list[str], lower: list[str]) -> list[str]:
    pairs = zip_longest(upper, lower, fillvalue="")
    return [above if above == below else f"{above} {below}".strip() for above, below in pairs]
