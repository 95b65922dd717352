"""Renders answers as other programs do, and finds what a page would load, run or link to."""

from __future__ import annotations

from collections.abc import Callable, Container
from html.parser import HTMLParser
from urllib.parse import unquote

import cmarkgfm
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt

_GFM = ("table", "autolink", "strikethrough", "tasklist")
_MARKDOWN_IT = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# What Markdown itself and plain elements become.
_HARMLESS = frozenset(
    "p h1 h2 h3 h4 h5 h6 hr br ul ol li blockquote pre code em strong del table thead tbody tr th td section sup sub b "
    "i s u kbd ins mark small a".split()
)
_ATTRIBUTES = frozenset("href class id align title start lang style data-footnote-ref data-footnotes".split())
_TRAILING = ".,:;!?*_~')}\""  # readers differ on whether these belong to a URL


def render_with_cmark(markdown: str) -> str:
    """Render as GitHub does, with raw HTML."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    return str(cmarkgfm.markdown_to_html_with_extensions(markdown, options=options, extensions=list(_GFM)))


def render_with_markdown_it(markdown: str) -> str:
    """Render with markdown-it-py, with raw HTML."""
    return _MARKDOWN_IT.render(markdown)


RENDERERS: tuple[Callable[[str], str], ...] = (render_with_cmark, render_with_markdown_it)


def find_active(markdown: str, allowed: Container[str]) -> list[str]:
    """Return what any renderer would load, run or link to, except the allowed URLs and e-mail addresses."""
    return [item for render in RENDERERS for item in _Page(render(markdown), allowed).active]


class _Page(HTMLParser):
    def __init__(self, html: str, allowed: Container[str]) -> None:
        super().__init__()
        self.active: list[str] = []
        self._allowed = allowed
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "input" and values.get("type") == "checkbox":  # a task of a list
            return
        if tag not in _HARMLESS or not _ATTRIBUTES.issuperset(name for name in values if not name.startswith("data-")):
            self.active.append(str(self.get_starttag_text()))
        target = values.get("href") or "#"
        bare = unquote(target).rstrip(_TRAILING)
        if not target.startswith(("#", "mailto:")) and target not in self._allowed and bare not in self._allowed:
            self.active.append(target)

    def handle_comment(self, data: str) -> None:
        self.active.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.active.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.active.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.active.append(f"<![{data}")
