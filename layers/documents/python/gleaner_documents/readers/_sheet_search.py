"""Searches the XML of a sheet for what stands behind its rows, without keeping it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

_PIECE_BYTES = 1 << 20
_OVERLAP_BYTES = 2_048  # longer than the elements that are searched


def search_sheet(archive: zipfile.ZipFile, sheet_path: str, element: re.Pattern[bytes]) -> Iterator[str]:
    """Yield the matches of a pattern, or of its one group, some at the border of two pieces twice."""
    with archive.open(sheet_path) as stream:
        window = b""
        while piece := stream.read(_PIECE_BYTES):
            window = window[-_OVERLAP_BYTES:] + piece
            yield from (match.decode("utf-8", "replace") for match in element.findall(window))
