"""Reads reStructuredText by way of HTML, with docutils; what Sphinx adds to it is read as text."""

from __future__ import annotations

from typing import Any

from docutils.core import publish_parts

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._named_groups import read_groups, to_fields
from gleaner_documents.readers._sphinx import fields_at_top, sphinx_markup, without_metadata
from gleaner_documents.readers.html import collect_sections, parse_html

_NO_MESSAGES = 5
# A document names no file that is read for it, and runs nothing.
_SETTINGS: dict[str, Any] = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": _NO_MESSAGES,
    "halt_level": _NO_MESSAGES,
    "warning_stream": False,
    "traceback": False,
    "_disable_config": True,
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "docinfo_xform": False,
    "smart_quotes": False,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "initial_header_level": 1,
    "section_self_link": False,
    "toc_backlinks": False,
    "footnote_backlinks": False,
    "line_length_limit": 1_000_000,
}


def read_restructured_text(
    source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None
) -> Document:
    """The document; its title is the first heading of the first level, else `fallback_title`.

    Its groups are in a field at its top: `:groups: ["hr"]`. Raises NotText and InvalidGroups.
    """
    source = decode(source_file_path, data)
    text = without_metadata(source)
    with sphinx_markup(text):
        html = publish_parts(text, writer="html5", settings_overrides=_SETTINGS)["body"]
    soup = parse_html(html)
    for literal in soup.find_all("span", class_="literal"):
        literal.name = "code"
    collector = collect_sections(soup, base_url=source_url)
    return Document(
        source_file_path=source_file_path,
        title=collector.first_h1 or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
        groups=read_groups(to_fields(fields_at_top(source))),
    )
