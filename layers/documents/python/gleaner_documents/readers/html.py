"""Reads HTML: lays out the main text as a browser would and keeps lists, tables and code readable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._links import without_addresses
from gleaner_documents.readers._named_groups import read_groups, to_fields
from gleaner_documents.readers._notes import find_notes, place_notes
from gleaner_documents.readers._page_survey import PageSurvey, survey_page
from gleaner_documents.readers._page_walk import walk
from gleaner_documents.readers._sections import SectionCollector, shorten
from gleaner_documents.readers._text_layout import TextLayout, is_block_component, lays_out

_HEADING = re.compile(r"h[1-6]")
_MAX_TABLE_LEVELS = 3  # from a header of a table up to the table
_LEVEL = re.compile(r"[1-9]\d?")
# What a page may leave open, each after the last end of its kind.
_CONSTRUCTS = (("<!--", "-->"), ("<![", "]"), ("<", ">"))
# Roles of WAI-ARIA that say what element of HTML a <div> stands for.
_ELEMENTS = {
    "table": "table", "grid": "table", "treegrid": "table", "rowgroup": "tbody", "row": "tr", "cell": "td",
    "gridcell": "td", "columnheader": "th", "rowheader": "th", "list": "ul", "listitem": "li",
}  # fmt: skip
# A heading inside one of these labels a part of it and does not open a section.
_NESTING = ("li", "dt", "table", "blockquote", "pre", "summary")


def read_html(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document; its title is the first H1, else <title>, else `fallback_title`.

    `<meta name="groups" content='["hr"]'>` names its groups. Raises NotText and InvalidGroups.
    """
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    soup = parse_html(decode(source_file_path, data, declared=declared))
    title = soup.title.get_text() if soup.title else ""
    base = _attribute(soup, "base", "href")
    source_url = _web_address(base, _attribute(soup, "link", "href", rel="canonical")) or source_url
    collector = collect_sections(soup, base_url=urljoin(source_url or "", base) or None)
    return Document(
        source_file_path=source_file_path,
        title=collector.first_h1 or shorten(title) or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
        description=" ".join(_attribute(soup, "meta", "content", name="description").split()),
        groups=read_groups(to_fields(_metadata(soup))),
    )


def parse_html(html: str) -> BeautifulSoup:
    """Parse a page in linear time: the parser would search the rest of the page for the end of each open construct."""
    for opening, closing in _CONSTRUCTS:
        end = html.rfind(closing) + 1
        html = html[:end] + html[end:].replace(opening, f"&lt;{opening[1:]}")
    soup = BeautifulSoup(html, "html.parser")
    for tag in soup.find_all(["div", "span", "section", "p"], role=list(_ELEMENTS)):
        tag.name = _ELEMENTS[str(tag["role"])]
    place_notes(find_notes(soup))
    _mark_layout_tables(soup)
    return soup


def _mark_layout_tables(soup: BeautifulSoup) -> None:
    """Give their role to tables with headings of the page in them and without headers of their own.

    Pages were laid out so before style sheets could, and e-mails still are.
    """
    related = {
        id(parent)
        for header in soup.find_all(["th", "caption"])
        for parent in islice(header.parents, _MAX_TABLE_LEVELS)
    }
    seen: set[int] = set()
    for heading in soup.find_all(_HEADING):
        for parent in heading.parents:
            if id(parent) in seen:
                break
            seen.add(id(parent))
            if parent.name == "table" and id(parent) not in related:
                parent["role"] = "presentation"


def collect_sections(soup: BeautifulSoup, *, base_url: str | None = None) -> SectionCollector:
    """Collect the sections of a parsed page, or of its <main> or only <article> if its text stands there.

    Relative links are resolved against `base_url`.
    """
    survey = survey_page(soup)
    reader = _SectionReader(survey, base_url)
    for root in survey.roots:
        for event, node in walk(root, survey.tabs):
            if isinstance(node, Tag):
                reader.handle_tag(node, opens=event == "open")
            elif isinstance(node, NavigableString):
                reader.layout.add_string(node)
    reader.collector.add_text(reader.layout.take())
    return reader.collector


class _SectionReader:
    """Passes text to the layout, and cuts it at headings and at the summaries of details."""

    def __init__(self, survey: PageSurvey, base_url: str | None) -> None:
        self.collector = SectionCollector()
        self.layout = TextLayout(base_url)
        self._panel_titles = survey.panel_titles
        self._nesting = 0
        self._parts: list[Tag] = []  # open <details> that are sections

    def handle_tag(self, tag: Tag, *, opens: bool) -> None:
        if tag.name in _NESTING and not (tag.name == "table" and lays_out(tag)):
            self._nesting += 1 if opens else -1
        level = _heading_level(tag)
        if level and not self._nesting:
            text = self.layout.take()
            if opens:
                self.collector.add_text(text)
            else:
                self._open_section(level, text)
        elif tag.name == "summary" and self._nesting == opens and _titles_a_part(tag):
            self._handle_summary(tag, opens=opens)
        else:
            self.layout.add_tag(tag, opens=opens)
            if opens and is_block_component(tag.name) and (name := _component_title(tag)):
                self.layout.add_label(name)
            if opens and id(tag) in self._panel_titles:
                self.layout.add_label(self._panel_titles[id(tag)])
            if not opens and self._parts and self._parts[-1] is tag:
                self._parts.pop()
                self.collector.add_text(self.layout.take())
                self.collector.close_part()

    def _open_section(self, level: int, text: str) -> None:
        """A heading is cited without addresses; they stay in the text below it."""
        name = without_addresses(text)
        self.collector.open_section(level, name)
        if name != text:
            self.layout.add_block(text)

    def _handle_summary(self, tag: Tag, *, opens: bool) -> None:
        text = self.layout.take()
        if opens:
            self.collector.add_text(text)
        elif self.collector.open_part(without_addresses(text)) and tag.parent is not None:
            self._parts.append(tag.parent)


def _heading_level(tag: Tag) -> int:
    """1 to 6, or 0 for what is no heading."""
    if _HEADING.fullmatch(tag.name):
        return int(tag.name[1])
    if tag.attrs and tag.get("role") == "heading":
        level = str(tag.get("aria-level") or "2")  # the default of WAI-ARIA
        return min(int(level), 6) if _LEVEL.fullmatch(level) else 2
    return 0


def _component_title(tag: Tag) -> str:
    """The title of a tab or panel that is no element of HTML: `<tab header="Java">`, `<el-tab-pane label="Oil">`."""
    return next((str(tag[name]) for name in ("header", "title", "label") if tag.get(name)), "")


def _titles_a_part(summary: Tag) -> bool:
    """Whether anything follows a summary in its <details>."""
    if summary.parent is None or summary.parent.name != "details":
        return False
    return any(isinstance(sibling, Tag) or str(sibling).strip() for sibling in summary.next_siblings)


def _attribute(soup: BeautifulSoup, element: str, attribute: str, **others: str) -> str:
    """An attribute of the first such element that has it, or ""."""
    tag = soup.find(element, attrs={attribute: True, **others})
    return str(tag[attribute]).strip() if isinstance(tag, Tag) else ""


def _metadata(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    for tag in soup.find_all("meta"):
        for attribute in ("name", "property", "itemprop"):
            if tag.get(attribute):
                yield str(tag[attribute]), str(tag.get("content", ""))


def _web_address(base: str, address: str) -> str | None:
    try:
        absolute = urljoin(base, address)
        parts = urlsplit(absolute)
    except ValueError:  # no address in brackets
        return None
    return absolute if address and parts.scheme in ("http", "https") and parts.hostname else None
