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
# What a page may leave open, each after the last end of its kind.
_CONSTRUCTS = (("<!--", "-->"), ("<![", "]"), ("<", ">"))
# A heading inside one of these labels a part of it and does not open a section.
_NESTING = ("li", "table", "blockquote")

Event = tuple[Literal["open", "close", "text"], PageElement]


def read_html(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The document; its title is the first H1, else <title>, else `fallback_title`. Raises NotText."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    soup = parse_html(decode(source_file_path, data, declared=declared))
    title = soup.title.get_text() if soup.title else ""
    collector = collect_sections(soup)
    return Document(
        source_file_path=source_file_path,
        title=collector.first_h1 or shorten(title) or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def parse_html(html: str) -> BeautifulSoup:
    """Parse a page in linear time: the parser would search the rest of the page for the end of each open construct."""
    for opening, closing in _CONSTRUCTS:
        end = html.rfind(closing) + 1
        html = html[:end] + html[end:].replace(opening, f"&lt;{opening[1:]}")
    return BeautifulSoup(html, "html.parser")


def collect_sections(soup: BeautifulSoup) -> SectionCollector:
    """Collect the sections of a parsed page, or of its <main> or only <article> if it has one."""
    root = _find_root(soup)
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


def _find_root(soup: BeautifulSoup) -> Tag:
    # No CSS selectors: soupsieve 4.1 cannot parse any on Python 3.11.2, which Debian 12 has.
    articles = []
    for event, node in _walk(soup):
        if event == "open" and isinstance(node, Tag):
            if node.name == "main":
                return node
            if node.name == "article":
                articles.append(node)
    return articles[0] if len(articles) == 1 else soup.body or soup


def _is_noise(tag: Tag) -> bool:
    """Includes hidden elements, those hidden from screen readers, the page's footer and the "¶" after headings."""
    if tag.name in _NOISE or tag.has_attr("hidden") or tag.get("role") == "navigation":
        return True
    if tag.name == "footer":
        return tag.parent is not None and tag.parent.name == "body"
    return tag.get("aria-hidden") == "true" or "headerlink" in (tag.get("class") or ())


def _walk(root: Tag) -> Iterator[Event]:
    """Yield every tag twice (open, close) and every string once, without noise; not recursive: pages nest deeply."""
    pending: list[Event] = [("close", root)]
    pending += [("open", child) for child in reversed(root.contents)]
    while pending:
        event, node = pending.pop()
        if not isinstance(node, Tag):
            yield "text", node
            continue
        if event == "open" and _is_noise(node):
            continue
        yield event, node
        if event == "open":
            pending.append(("close", node))
            pending += [("open", child) for child in reversed(node.contents)]
