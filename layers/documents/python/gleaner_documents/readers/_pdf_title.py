"""Chooses the title of a PDF: the one in its metadata, unless a program wrote it, else the largest line of page one."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from gleaner_documents.readers._pdf_layout import Line
from gleaner_documents.readers._sections import shorten

# Names that programs put where no one entered a title: of a new document, of the source file, of the program.
_NO_TITLE = re.compile(
    r"""(untitled|unbenannt|ohne\ titel|sans\ (nom|titre)|sin\ t[íi]tulo|senza\ (nome|titolo)|sem\ t[íi]tulo|naamloos|
    bez\ (tytułu|názvu)|без\ (имени|названия)|无标题|無題|無標題|제목\ ?없음)\W*\d*|
    (microsoft\ (word|excel|powerpoint|office\ word)|openoffice|libreoffice|wordpad|pages)\b(\ -\ .*|\ document)?|
    (document|dokument|documento|документ|文档|文書|book|mappe|presentation|présentation|präsentation|layout|slide|folie|
    print|page|title|no\ slide\ title|new\ document|powerpoint\ presentation|full\ page\ photo|template)\W*\d*|
    \(?(anonymous|unspecified|unknown|none|null)\)?|
    ([a-z]:[\\/]|[\\/~]|file:|https?:|about:).*|
    \S.*\.(docx?|dotx?|rtf|odt|ott|pptx?|odp|xlsx?|ods|dvi|tex|ps|eps|indd|qxd|qxp|pmd|p65|fm|book|wpd|wps|pub|pages|key|
    html?|md|txt|pdf|ai|cdr|vsd|tmp|log|jpe?g|png|tiff?)|
    (table\ of\ )?contents|abstract|introduction|inhalt(sverzeichnis)?|(table\ des\ mati[èe]res|sommaire|[íi]ndice|
    sumário|índice\ general|spis\ treści|содержание|оглавление|目录|目次|目錄)|
    [\W\d_]*""",
    re.IGNORECASE | re.VERBOSE,
)
_XMP_TITLE = re.compile(rb"<dc:title>\s*<rdf:Alt>\s*<rdf:li[^>]{0,200}>([^<]{1,2000})</rdf:li>")
_SAME_SIZE = 0.97
_MIN_LARGER = 1.15  # than the usual line
_MAX_TITLE_LINES = 4
_MIN_TITLE_LETTERS = 3


def choose_title(metadata_title: str, data: bytes, first_page: Sequence[Line], fallback: str) -> str:
    """The first of these that is a title: the metadata's, the XMP packet's in `data`, the page's largest line."""
    candidates = (metadata_title, _xmp_title(data), _largest_line(first_page))
    return next((name for name in map(shorten, candidates) if not _NO_TITLE.fullmatch(name)), fallback)


def _xmp_title(data: bytes) -> str:
    """The title in the metadata packet, which is stored in plain text (XMP Specification Part 3, section 2.1)."""
    match = _XMP_TITLE.search(data)
    return html.unescape(match[1].decode("utf-8", "replace")) if match else ""


def _largest_line(lines: Sequence[Line]) -> str:
    """The largest line with a word in it and those that continue it; "" if all are of about one size."""
    named = [line for line in lines if sum(map(str.isalpha, line.text)) >= _MIN_TITLE_LETTERS]
    if not named:
        return ""
    sizes = sorted(line.size for line in named for _ in range(len(line.text)))
    largest = max(line.size for line in named)
    if largest < _MIN_LARGER * sizes[len(sizes) // 2]:
        return ""
    start = next(index for index, line in enumerate(lines) if line in named and line.size >= _SAME_SIZE * largest)
    parts = []
    for line in lines[start : start + _MAX_TITLE_LINES]:
        if line.size < _SAME_SIZE * largest:
            break
        parts.append(line.text)
    return " ".join(parts)
