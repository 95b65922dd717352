"""Finds the links of a sheet's cells, which openpyxl does not tell when it reads a sheet row by row."""

from __future__ import annotations

import re
import zipfile
from posixpath import basename, dirname

from openpyxl.utils.cell import range_boundaries

from gleaner_documents.readers._links import link_text
from gleaner_documents.readers._ooxml import parse_part
from gleaner_documents.readers._sheet_search import search_sheet

_MAX_LINKS = 100_000
_LINK = re.compile(rb"<(?:\w+:)?hyperlink\s[^>]{0,2000}>")
_ATTRIBUTE = re.compile(r'(?:\w+:)?(ref|id)="([^"]*)"')


class CellLinks:
    """The addresses behind the cells of a sheet."""

    def __init__(self, archive: zipfile.ZipFile, sheet_path: str) -> None:
        self._addresses: dict[int, dict[int, str]] = {}  # by row and column, from 1
        targets = _read_targets(archive, sheet_path)
        for count, tag in enumerate(search_sheet(archive, sheet_path, _LINK) if targets else ()):
            attributes = dict(_ATTRIBUTE.findall(tag))
            address = targets.get(attributes.get("id", ""))
            if count >= _MAX_LINKS or not address or not attributes.get("ref"):
                continue
            column, row, _, _ = range_boundaries(attributes["ref"])
            self._addresses.setdefault(row or 1, {})[column or 1] = address

    def add(self, number: int, row: list[str]) -> None:
        """Write the links of row `number` after the words of its cells."""
        for column, address in self._addresses.get(number, {}).items():
            if column <= len(row):
                row[column - 1] = link_text(row[column - 1], address, None)


def _read_targets(archive: zipfile.ZipFile, sheet_path: str) -> dict[str, str]:
    relations = parse_part(archive, f"{dirname(sheet_path)}/_rels/{basename(sheet_path)}.rels")
    if relations is None:
        return {}
    external = (relation for relation in relations if relation.get("TargetMode") == "External")
    return {relation.get("Id", ""): relation.get("Target", "") for relation in external}
