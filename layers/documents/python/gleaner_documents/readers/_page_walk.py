"""Walks over the content of a page and leaves out what serves to find, open or copy it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from typing import Literal

from bs4 import Tag
from bs4.element import NavigableString, PageElement

Event = tuple[Literal["open", "close", "text"], PageElement]

# Never text of the page: scripts, navigation, what was deleted, brackets for browsers that cannot show readings.
_NOISE = frozenset(
    "head title script style nav iframe textarea datalist rp audio video canvas del s strike rtc".split()
)
_NOISE_ROLES = frozenset("navigation search menu menubar contentinfo".split())
_NOISE_CLASSES = frozenset(
    "headerlink hash-link anchor-link header-anchor heading-anchor anchorjs-link skip-link mw-editsection mw-jump-link"
    " footnote-backref footnote-back reversefootnote fn-backref copybtn clipboard-button material-icons"
    " material-symbols-outlined katex-html line-numbers-rows".split()
)
# Numbers of lines: Pygments, Chroma, highlight.js, Rouge, Hexo, GitHub.
_LINE_NUMBERS = frozenset(
    "linenos lineno linenodiv ln lnt hljs-ln-numbers rouge-gutter gutter blob-num linenumber line-number".split()
)
_NAVIGATION = re.compile(
    r"(?:^|[-_ ])(?:nav\w*|menu\w*|sidebar\w*|toc|breadcrumbs?|search\w*|drawer|offcanvas|cookies?|consent|pagination)"
    r"(?:$|[-_ ])",
    re.IGNORECASE,
)
_BOXES = ("div", "ul", "ol", "aside", "span", "dialog", "header", "form")  # the id of a <section> is its heading
_OPENERS = re.compile(r"accordion|collaps|toggle|tab|question|faq|summary|expand", re.IGNORECASE)
_TOOLS = re.compile(
    r"copy|clipboard|search|menu|nav|close|dismiss|theme|cookie|share|print|hamburger|sidebar|toc|login|subscribe",
    re.IGNORECASE,
)
_LEAVES = ("math", "svg", "img", "input")  # described as a whole
_SENTENCES = frozenset("p li td th dt dd figcaption caption blockquote".split())
_CONTEXTS = dict.fromkeys(_SENTENCES, "sentence") | {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "summary", "legend"), "heading"),
    **dict.fromkeys(("main", "article", "section", "blockquote"), "content"),
    "pre": "code",
}
_WORD = re.compile(r"[^\W_]")
_MAX_ANCHOR_NODES = 20
_MAX_NODES = 2_000  # that are looked at to tell navigation from content
_MIN_LINKS, _MIN_LINK_SHARE = 3, 0.8


def walk(root: Tag, skipped: Set[int] = frozenset()) -> Iterator[Event]:
    """Yield every tag twice (open, close) and every string once; not recursive: pages nest deeply.

    Noise is left out, and so are the tags whose ids (`id(tag)`) are in `skipped`.
    """
    page = _Context()
    pending: list[Event] = [("close", root)]
    pending += [("open", child) for child in reversed(root.contents)]
    while pending:
        event, node = pending.pop()
        if not isinstance(node, Tag):
            yield "text", node
        elif event == "close":
            page.leave(node)
            yield event, node
        elif id(node) not in skipped and not page.is_noise(node):
            page.enter(node)
            yield event, node
            pending.append(("close", node))
            if node.name not in _LEAVES:
                pending += [("open", child) for child in reversed(node.contents)]


class _Context:
    """What the walk is in: it decides whether a button is a word of a sentence or a control."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._judged: list[Tag] = []  # the element whose parts need no second judgement

    def enter(self, tag: Tag) -> None:
        self._open[tag.name] += 1
        if tag.name in _CONTEXTS:
            self._open[_CONTEXTS[tag.name]] += 1

    def leave(self, tag: Tag) -> None:
        self._open[tag.name] -= 1
        if tag.name in _CONTEXTS:
            self._open[_CONTEXTS[tag.name]] -= 1
        if self._judged and self._judged[-1] is tag:
            self._judged.pop()

    def is_noise(self, tag: Tag) -> bool:
        """Whether the tag is left out with all that it holds."""
        is_noise = self._is_noise(tag)
        if is_noise and self._judged and self._judged[-1] is tag:
            self._judged.pop()
        return is_noise

    def _is_noise(self, tag: Tag) -> bool:
        name = tag.name
        if name in _NOISE or (name == "footer" and not self._open["content"]):
            return True
        if name in ("button", "select", "input"):
            return not self._is_word(tag)
        if name == "template":
            return not tag.has_attr("shadowrootmode")
        if name == "noscript":
            return self._is_new(tag) and not _is_message(tag)
        return bool(tag.attrs) and self._is_marked_as_noise(tag)

    def _is_marked_as_noise(self, tag: Tag) -> bool:
        classes = tag.get("class") or ()
        if tag.get("role") in _NOISE_ROLES or not _NOISE_CLASSES.isdisjoint(classes):
            return True
        if not _LINE_NUMBERS.isdisjoint(classes) and (self._open["code"] or tag.name in ("td", "pre", "div")):
            return True
        if tag.name == "a":
            return _is_anchor(tag)
        if tag.get("role") == "tabpanel":
            return False
        is_hidden = tag.has_attr("hidden") or tag.get("aria-hidden") == "true"
        hint = tag.name in _BOXES and bool(_NAVIGATION.search(f"{' '.join(classes)} {tag.get('id') or ''}"))
        if not (is_hidden or hint) or not self._is_new(tag):
            return False
        if is_hidden and (tag.name in ("i", "img", "svg") or hint or not _has_words(tag)):
            return True
        return _is_navigation(tag)

    def _is_new(self, tag: Tag) -> bool:
        """Whether nothing around the tag was judged already; a page may nest hidden elements without end."""
        if self._judged:
            return False
        self._judged.append(tag)
        return True

    def _is_word(self, tag: Tag) -> bool:
        """Whether a control belongs to the text: it stands in a sentence or opens what stands below it."""
        kind = str(tag.get("type") or "")
        if tag.name == "input":
            return bool(self._open["li" if kind == "checkbox" else "sentence"]) and kind in (
                *("checkbox", "button", "submit", "reset"),
            )
        if self._open["code"] or tag.get("aria-hidden") == "true":
            return False
        if self._open["sentence"]:
            return True
        names = " ".join([*(tag.get("class") or ()), str(tag.get("id") or ""), str(tag.get("aria-label") or "")])
        if tag.name == "select" or _TOOLS.search(names) or tag.has_attr("aria-haspopup"):
            return False
        opens_text = tag.has_attr("aria-expanded") or tag.has_attr("aria-controls") or tag.get("role") == "tab"
        return bool(self._open["heading"]) or opens_text or bool(_OPENERS.search(names))


def _nodes(tag: Tag, maximum: int) -> Iterator[PageElement]:
    """Yield the first nodes inside a tag. `Tag.descendants` looks for the last one first, however deep it is."""
    pending = tag.contents[maximum - 1 :: -1] if len(tag.contents) > maximum else tag.contents[::-1]
    for _ in range(maximum):
        if not pending:
            return
        node = pending.pop()
        yield node
        if isinstance(node, Tag):
            pending += node.contents[:maximum][::-1]


def _strings(tag: Tag) -> Iterator[str]:
    return (str(node) for node in _nodes(tag, _MAX_NODES) if isinstance(node, NavigableString))


def _has_words(tag: Tag) -> bool:
    return any(_WORD.search(string) for string in _strings(tag))


def _is_message(tag: Tag) -> bool:
    """Whether a <noscript> holds content and not the request to switch scripts on."""
    text = " ".join(_strings(tag)).casefold()
    return bool(text.strip()) and "javascript" not in text


def _is_anchor(tag: Tag) -> bool:
    """Whether a link only marks a place ("¶", "#", "↩") or repeats another one for the eye."""
    if tag.get("aria-hidden") == "true":
        return True
    if not str(tag.get("href") or "").startswith("#"):
        return False
    nodes = list(_nodes(tag, _MAX_ANCHOR_NODES))
    return len(nodes) < _MAX_ANCHOR_NODES and not any(
        node.name in ("img", "sup") if isinstance(node, Tag) else _WORD.search(str(node)) for node in nodes
    )


def _is_navigation(tag: Tag) -> bool:
    """Whether an element holds little but links."""
    chars = linked = links = 0
    for node in _nodes(tag, _MAX_NODES):
        if isinstance(node, Tag):
            links += node.name in ("a", "button")
        elif isinstance(node, NavigableString) and node.parent is not None:
            size = len(node.strip())
            chars += size
            linked += size * (node.parent.name in ("a", "button") or getattr(node.parent.parent, "name", "") == "a")
    return links >= _MIN_LINKS and linked >= _MIN_LINK_SHARE * chars
