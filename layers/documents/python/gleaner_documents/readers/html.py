"""Reads HTML: lays out the main text as a browser would and keeps lists, tables and code readable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement

from gleaner_documents.model import Document
from gleaner_documents.readers._decoding import decode
from gleaner_documents.readers._sections import SectionCollector, shorten
from gleaner_documents.readers._text_layout import TextLayout

# Not part of the page's text: scripts, controls, navigation.
_NOISE = frozenset("head title script style noscript template nav svg iframe button select textarea input".split())
_HEADING = re.compile(r"h[1-6]")
# A heading inside one of these labels a part of it and does not open a section.
_NESTING = ("li", "table", "blockquote")

Event = tuple[Literal["open", "close", "text"], PageElement]


def read_html(source_file_path: str, data: bytes, *, fallback_title: str) -> Document:
    """The document; its title is the first H1, else <title>, else `fallback_title`. Raises NotText."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    soup = BeautifulSoup(decode(source_file_path, data, declared=declared), "html.parser")
    title = soup.title.get_text() if soup.title else ""
    collector = collect_sections(soup)
    return Document(
        source_file_path=source_file_path,
        title=collector.first_h1 or shorten(title) or fallback_title,
        sections=tuple(collector.sections),
    )


def collect_sections(soup: BeautifulSoup) -> SectionCollector:
    """Collect the sections of a parsed page, or of its <main> or only <article> if it has one."""
    # No CSS selectors: soupsieve 4.1 cannot parse any on Python 3.11.2, which Debian 12 has.
    for element in soup.find_all(_is_noise):
        element.extract()
    articles = soup.find_all("article")
    root = soup.find("main") or (articles[0] if len(articles) == 1 else None) or soup.body or soup
    collector = SectionCollector()
    layout = TextLayout()
    nesting = 0
    for event, node in _walk(root):
        if isinstance(node, Tag):
            nesting += (node.name in _NESTING) * (1 if event == "open" else -1)
            if _HEADING.fullmatch(node.name) and not nesting:
                text = layout.take()
                if event == "open":
                    collector.add_text(text)
                else:
                    collector.open_section(int(node.name[1]), text)
            else:
                layout.add_tag(node, opens=event == "open")
        elif isinstance(node, NavigableString):
            layout.add_string(node)
    collector.add_text(layout.take())
    return collector


def _is_noise(tag: Tag) -> bool:
    """Includes hidden elements, those hidden from screen readers, the page's footer and the "¶" after headings."""
    if tag.name in _NOISE or tag.has_attr("hidden") or tag.get("role") == "navigation":
        return True
    if tag.name == "footer":
        return tag.parent is not None and tag.parent.name == "body"
    return tag.get("aria-hidden") == "true" or "headerlink" in (tag.get("class") or ())


def _walk(root: Tag) -> Iterator[Event]:
    """Yields every tag twice (open, close) and every string once; not recursive, as pages nest without limit."""
    pending: list[Event] = [("close", root)]
    pending += [("open", child) for child in reversed(root.contents)]
    while pending:
        event, node = pending.pop()
        if not isinstance(node, Tag):
            yield "text", node
            continue
        yield event, node
        if event == "open":
            pending.append(("close", node))
            pending += [("open", child) for child in reversed(node.contents)]
