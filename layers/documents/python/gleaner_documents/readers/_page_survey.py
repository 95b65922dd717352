"""Finds out what a page is made of before it is read: where its text stands, and which tab names which panel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag

from gleaner_documents.readers._page_walk import walk

# A <main> or a single <article> is the page's text, unless this many times its text stands outside, links aside.
_MAX_OUTSIDE = {"main": 2.0, "article": 1.0}
_PANEL_CLASSES = {"tab-pane", "tabbed-block"}
_TAB_LISTS = {"tabbed-labels", "nav-tabs"}


@dataclass(slots=True)
class PageSurvey:
    """The elements that hold the text, the titles of panels by `id(panel)`, and the tabs that these titles come from."""

    roots: list[Tag] = field(default_factory=list)
    panel_titles: dict[int, str] = field(default_factory=dict)
    tabs: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Tab:
    tag: Tag
    words: list[str] = field(default_factory=list)


def survey_page(soup: BeautifulSoup) -> PageSurvey:
    """Look once over the whole page."""
    body = soup.body or soup
    places, tabs = _Places(body), _Tabs()
    for event, node in walk(body):
        if isinstance(node, Tag):
            places.add_tag(node, opens=event == "open")
            tabs.add_tag(node, opens=event == "open")
        elif node.strip() if isinstance(node, str) else "":
            places.add_text(len(str(node).strip()))
            tabs.add_text(str(node))
    return PageSurvey(places.find_roots(), tabs.titles, tabs.titled)


class _Places:
    """Weighs the text in and outside of <main> and <article>."""

    def __init__(self, body: Tag) -> None:
        self._body = body
        self._open: dict[str, Tag] = {}  # the outermost open element of each kind
        self._chars: dict[str, dict[int, int]] = {"main": {}, "article": {}}  # by element
        self._elements: dict[int, Tag] = {}
        self._links = 0
        self._outside = {"main": 0, "article": 0}

    def add_tag(self, tag: Tag, *, opens: bool) -> None:
        if tag.name == "a":
            self._links += 1 if opens else -1
        kind = "main" if tag.get("role") == "main" else tag.name
        if kind not in self._chars:
            return
        if opens and kind not in self._open:
            self._open[kind] = tag
            self._elements[id(tag)] = tag
        elif not opens and self._open.get(kind) is tag:
            del self._open[kind]

    def add_text(self, chars: int) -> None:
        for kind, sizes in self._chars.items():
            if kind in self._open:
                key = id(self._open[kind])
                sizes[key] = sizes.get(key, 0) + chars
            elif not self._links:
                self._outside[kind] += chars

    def find_roots(self) -> list[Tag]:
        for kind, sizes in self._chars.items():
            if (kind == "main" or len(sizes) == 1) and self._outside[kind] < sum(sizes.values()) * _MAX_OUTSIDE[kind]:
                return [self._elements[key] for key in sizes]
        return [self._body]


class _Tabs:
    """Matches tabs with panels: by their ids, else the panels of one parent in the order of the last list of tabs."""

    def __init__(self) -> None:
        self.titles: dict[int, str] = {}
        self.titled: set[int] = set()
        self._by_panel_id: dict[str, _Tab] = {}
        self._by_id: dict[str, _Tab] = {}
        self._lists: list[deque[_Tab]] = []
        self._by_parent: dict[int, deque[_Tab]] = {}
        self._tab: _Tab | None = None

    def add_text(self, text: str) -> None:
        if self._tab is not None:
            self._tab.words += text.split()

    def add_tag(self, tag: Tag, *, opens: bool) -> None:
        if not opens:
            if self._tab is not None and self._tab.tag is tag:
                self._tab = None
            return
        if not tag.attrs:
            return
        if tag.get("role") == "tablist" or not _TAB_LISTS.isdisjoint(tag.get("class") or ()):
            self._lists.append(deque())
        elif _is_tab(tag) and self._tab is None:
            self._add_tab(tag)
        elif tag.get("role") == "tabpanel" or not _PANEL_CLASSES.isdisjoint(tag.get("class") or ()):
            self._add_panel(tag)

    def _add_tab(self, tag: Tag) -> None:
        self._tab = tab = _Tab(tag)
        if self._lists:
            self._lists[-1].append(tab)
        for name in ("aria-controls", "data-bs-target", "data-target", "href"):
            target = str(tag.get(name) or "").removeprefix("#")
            if target:
                self._by_panel_id.setdefault(target, tab)
        self._by_id.setdefault(str(tag.get("id") or ""), tab)

    def _add_panel(self, panel: Tag) -> None:
        queue = self._by_parent.get(id(panel.parent))
        if queue is None:
            queue = self._by_parent[id(panel.parent)] = self._lists.pop() if self._lists else deque()
        tab = self._by_panel_id.get(str(panel.get("id") or "")) or self._by_id.get(
            str(panel.get("aria-labelledby") or "-")
        )
        if tab in queue:
            queue.remove(tab)
        elif tab is None and queue:
            tab = queue.popleft()
        if tab is not None and tab.words:
            self.titles[id(panel)] = " ".join(tab.words)
            self.titled.add(id(tab.tag))


def _is_tab(tag: Tag) -> bool:
    if tag.get("role") == "tab" or "tab" in (tag.get("data-toggle"), tag.get("data-bs-toggle")):
        return True
    return tag.name == "label" and "tabbed-labels" in ((tag.parent.get("class") or ()) if tag.parent else ())
