"""Reads Jupyter notebooks (nbformat 3 and 4) by way of Markdown: text, code and the beginning of its output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gleaner.groups import InvalidGroups
from gleaner_documents.model import BrokenFile, Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._named_groups import read_groups
from gleaner_documents.readers.markdown import read_markdown

# Outputs show what code gives; a log or a printed data set would hide everything else.
_MAX_OUTPUT_LINES = 15
_MAX_OUTPUT_CHARS = 1_500
_TEXT_TYPES = ("text/markdown", "text/plain", "text/latex")
_TERMINAL_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b.|[\x00-\x08\x0b-\x1f\x7f]")
_FRONT_MATTER = ("---", "+++", "%YAML")  # Quarto keeps it in a raw cell
_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def read_notebook(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document; code and outputs are code blocks, outputs are cut short and pictures are left out.

    Its title is as in Markdown. Its groups are those of its metadata, or of front matter in its first cell. Raises
    BrokenFile, NotText and InvalidGroups.
    """
    text = decode(source_file_path, data)
    try:
        notebook = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BrokenFile(source_file_path, "is not JSON, which a notebook is") from error
    if not isinstance(notebook, dict) or not isinstance(cells := _cells(notebook), list):
        raise BrokenFile(source_file_path, "is not a notebook: it has no cells")
    language = _language(notebook)
    blocks = [block for cell in cells if isinstance(cell, dict) for block in _write_cell(cell, language)]
    markdown = "\n\n".join(blocks).encode("utf-8", "replace")
    document = read_markdown(source_file_path, markdown, fallback_title=fallback_title, source_url=source_url)
    metadata = notebook.get("metadata")
    groups = read_groups(metadata) if isinstance(metadata, dict) else ()
    if groups and document.groups not in ((), groups):
        raise InvalidGroups("names other groups in its metadata than in its first cell")
    return replace(document, groups=groups or document.groups)


def _cells(notebook: dict[str, Any]) -> object:
    if "cells" in notebook:
        return notebook["cells"]
    sheets = notebook.get("worksheets")  # before nbformat 4
    return [cell for sheet in sheets for cell in sheet.get("cells", [])] if isinstance(sheets, list) else None


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[\w+#-]{1,20}", name) else ""


def _write_cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _join(cell.get("source", cell.get("input", ""))).strip("\n")
    kind = cell.get("cell_type")
    if kind == "code":
        if source.strip():
            yield _fence(source, language)
        yield from _write_outputs(cell.get("outputs"))
    elif kind == "heading":  # before nbformat 4
        yield f"{'#' * int(cell.get('level', 1))} {source}"
    elif kind == "markdown" or (kind == "raw" and source.startswith(_FRONT_MATTER)):
        yield _close_fence(source)
    elif source.strip():
        yield _fence(source)


def _join(source: object) -> str:
    """Text is stored as one string or as a list of lines with their ends."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _fence(text: str, language: str = "") -> str:
    longest = max((len(fence) for fence in _FENCE_LINE.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _close_fence(markdown: str) -> str:
    """A code block that a cell leaves open ends with the cell."""
    open_fence = ""
    for fence in _FENCE_LINE.findall(markdown):
        if not open_fence:
            open_fence = fence
        elif fence.startswith(open_fence):
            open_fence = ""
    return f"{markdown}\n{open_fence}" if open_fence else markdown


def _write_outputs(outputs: object) -> Iterator[str]:
    texts = (
        [_output_text(output) for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []
    )
    text = _shorten("\n".join(filter(None, texts)))
    if text.strip():
        yield "Output:\n\n" + _fence(text)


def _output_text(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    if kind == "stream":
        return _join(output.get("text", "")).rstrip("\n")
    data = output.get("data")
    if not isinstance(data, dict):
        return _join(output.get("text", "")).rstrip("\n")  # before nbformat 4
    if any(name.startswith("image/") for name in data):
        return ""  # its text is "<Figure size 640x480 with 1 Axes>"
    return next((_join(data[name]).rstrip("\n") for name in _TEXT_TYPES if name in data), "")


def _shorten(text: str) -> str:
    lines = _TERMINAL_CONTROL.sub("", _last_states(text)).splitlines()
    shown = "\n".join(lines[:_MAX_OUTPUT_LINES])[:_MAX_OUTPUT_CHARS].rstrip()
    return shown + "\n…" if len(shown) < len("\n".join(lines).rstrip()) else shown


def _last_states(text: str) -> str:
    """A progress bar writes its line again and again after a carriage return; the last state stays."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
