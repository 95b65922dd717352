"""Finds the merged cells of a sheet; every one of them counts as having the value of the first."""

from __future__ import annotations

import re
import zipfile

from openpyxl.utils.cell import range_boundaries

from gleaner_documents.readers._sheet_search import search_sheet

_MAX_MERGED_CELLS = 100_000
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})"')

Position = tuple[int, int]  # row and column, from 1


class MergedCells:
    """The merged cells of a sheet. openpyxl does not tell them when it reads a sheet row by row."""

    def __init__(self, archive: zipfile.ZipFile, sheet_path: str) -> None:
        self._covered: dict[int, dict[int, Position]] = {}  # by row and column: the first of the merged cells
        self._values: dict[Position, str] = {}
        count = 0
        for reference in search_sheet(archive, sheet_path, _MERGED):
            first_column, first_row, last_column, last_row = range_boundaries(reference)
            count += (last_row - first_row + 1) * (last_column - first_column + 1)
            if count > _MAX_MERGED_CELLS:
                return
            for row in range(first_row, last_row + 1):
                columns = range(first_column, last_column + 1)
                self._covered.setdefault(row, {}).update(dict.fromkeys(columns, (first_row, first_column)))

    def fill(self, number: int, row: list[str]) -> bool:
        """Fill the merged cells of row `number`. Returns whether one of its values stands over several columns.

        A value that has a row for itself is a caption and stays in its first cell.
        """
        covered = self._covered.get(number)
        if not covered:
            return False
        own = {first for first in covered.values() if first[0] == number}
        for first in own:
            self._values[first] = row[first[1] - 1] if first[1] <= len(row) else ""
        from_above = any(self._values.get(first) for first in covered.values() if first not in own)
        if sum(map(bool, row)) <= 1 and not from_above:
            return False
        row.extend([""] * (max(covered) - len(row)))
        for column, first in covered.items():
            row[column - 1] = row[column - 1] or self._values.get(first, "")
        return any(self._values[first] and covered.get(first[1] + 1) == first for first in own)
