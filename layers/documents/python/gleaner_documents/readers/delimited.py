"""Reads CSV and TSV: tables of plain text, whatever stands between their cells."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._legacy_encodings import guess_encoding
from gleaner_documents.readers._sections import SectionCollector
from gleaner_documents.readers._tables import add_rows

_DELIMITERS = ("\t", ";", ",", "|")  # of two that fit equally well, the one that prose has less often
_SAMPLE_CHARS = 64 * 1024
_SAMPLE_ROWS = 100
_MAX_CELL_CHARS = 1_000_000


def read_delimited(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document, with its rows as tables under their headers; its title is the file name. Raises NotText."""
    text = decode(source_file_path, data, declared=guess_encoding(data)).lstrip("\ufeff")
    collector = SectionCollector()
    add_rows(collector, _rows(text), level=1)
    return Document(
        source_file_path=source_file_path,
        title=fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _rows(text: str) -> Iterator[list[str]]:
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first) == len("sep=,"):  # a line that Excel reads and writes
        return _parse(rest, first[-1])
    return _parse(text, _find_delimiter(text))


def _parse(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_MAX_CELL_CHARS)
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _find_delimiter(text: str) -> str:
    sample = text[:_SAMPLE_CHARS]
    return max(_DELIMITERS, key=lambda delimiter: _fitness(sample, delimiter))


def _fitness(sample: str, delimiter: str) -> tuple[float, int]:
    """The share of rows that have the usual number of cells, and that number; nothing if the usual number is 1."""
    try:
        widths = Counter(len(row) for row in islice(_parse(sample, delimiter), _SAMPLE_ROWS) if row)
    except csv.Error:
        return (0.0, 0)
    if not (several := {width: count for width, count in widths.items() if width > 1}):
        return (0.0, 0)
    width, count = max(several.items(), key=lambda item: (item[1], item[0]))
    return (count / widths.total(), width)
