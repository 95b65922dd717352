"""Reads presentations (PPTX): a chapter for each slide, with its tables, charts, diagrams and notes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PythonPptxError
from pptx.package import Package
from pptx.shapes.group import GroupShape

from gleaner_documents.model import HEADING_SEPARATOR, BrokenFile, Document
from gleaner_documents.readers._archive import open_archive
from gleaner_documents.readers._ooxml import core_title
from gleaner_documents.readers._sections import SectionCollector, shorten
from gleaner_documents.readers._slide_shapes import unwrap_alternatives, write_paragraphs, write_shape
from gleaner_documents.readers.html import collect_sections, parse_html

# Titles become chapters; the rest stands on every slide.
_LEFT_OUT = frozenset(
    {
        PP_PLACEHOLDER.TITLE,
        PP_PLACEHOLDER.CENTER_TITLE,
        PP_PLACEHOLDER.VERTICAL_TITLE,
        PP_PLACEHOLDER.SLIDE_NUMBER,
        PP_PLACEHOLDER.FOOTER,
        PP_PLACEHOLDER.HEADER,
        PP_PLACEHOLDER.DATE,
    }
)
_MAX_GROUP_DEPTH = 20


def read_slides(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document; a slide's chapter is its number and title: "Slide 4 › Mooring fees".

    The title is that of the properties, else the first slide's, else `fallback_title`. Hidden slides are left out.
    Raises BrokenFile and RefusedFile.
    """
    archive = open_archive(source_file_path, data)
    try:
        # Presentation() refuses slide shows and files with macros, which differ only in the name of their type.
        slides = list(Package.open(BytesIO(data)).main_document_part.presentation.slides)
        collector = SectionCollector()
        for number, slide in enumerate(slides, start=1):
            if slide.element.get("show") not in ("0", "false"):
                _add_slide(collector, number, slide)
    except (zipfile.BadZipFile, zlib.error, PythonPptxError, KeyError, ValueError, AttributeError) as error:
        raise BrokenFile(source_file_path, "is damaged or no PPTX file") from error
    title = core_title(archive) or (_title(slides[0]) if slides else "")
    return Document(
        source_file_path=source_file_path,
        title=title or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _add_slide(collector: SectionCollector, number: int, slide: Any) -> None:
    unwrap_alternatives(slide.shapes.element)
    title = _title(slide)
    collector.open_section(1, HEADING_SEPARATOR.join(filter(None, (f"Slide {number}", title))))
    html = "".join(write_shape(shape) for shape in _shapes(slide.shapes))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        html += "".join(write_paragraphs(slide.notes_slide.notes_text_frame.paragraphs))
    sections = collect_sections(parse_html(html)).sections
    for section in sections:
        collector.add_text(section.text)
    if title and not sections:
        collector.add_text(title)  # a slide that divides the others, or holds a picture


def _title(slide: Any) -> str:
    shape = slide.shapes.title
    return shorten(shape.text_frame.text.replace("\v", " ")) if shape is not None and shape.has_text_frame else ""


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """The shapes with content, in the order of the file, which is that of screen readers."""
    for shape in shapes:
        if isinstance(shape, GroupShape):
            if depth < _MAX_GROUP_DEPTH:
                yield from _shapes(shape.shapes, depth + 1)
        elif not (shape.is_placeholder and shape.placeholder_format.type in _LEFT_OUT):
            yield shape
