"""Lays out the elements of a page as plain Markdown: lists, tables and code stay readable."""

from __future__ import annotations

import re
from collections.abc import Callable

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from gleaner_documents.readers._formulas import read_formula
from gleaner_documents.readers._html_table import HtmlTable, RepeatBudget
from gleaner_documents.readers._text_blocks import TextBlocks
from gleaner_documents.readers._text_line import SPANS

# Line breaks around a block, as in a browser's plain text of a page: 2 leave a blank line.
_BREAKS = dict.fromkeys(
    ("p", "dl", "table", "pre", "blockquote", "figure", "section", "article", "main", "details", "hr",
     "h1", "h2", "h3", "h4", "h5", "h6"), 2
) | dict.fromkeys(
    ("li", "tr", "td", "th", "div", "caption", "figcaption", "summary", "header", "footer", "aside",
     "address", "fieldset", "legend", "form", "br", "optgroup"), 1
)  # fmt: skip
# Custom elements of these kinds, such as <sl-tab-panel>, are blocks; a browser shows others in the line.
_BLOCK_KINDS = frozenset("tab tabs pane panel tabpanel tabitem card item step accordion details callout alert".split())
_BLOCK_COMPONENTS = ("tab", "tabs", "panel", "tabitem", "codegroupitem")
_MAX_TABLES = 4  # within each other; bounds the work on a page that nests them without end
# Where a line may break: soft hyphen, zero-width space, word joiner, byte order mark.
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
# Classes of what names the block below it: Sphinx and MkDocs, Docusaurus, sphinx-design, GitHub.
_TITLE = re.compile(r"admonition-title$|admonitionHeading_|(?:sd-)?tab-label$|markdown-alert-title$")
_MAX_LABEL_CHARS = 60
_NAMED = ("p", "ul", "ol", "dl", "table", "pre", "blockquote", "div")
_SPAN = re.compile(r"\d{1,9}")
_LAYOUT_ROLES = ("presentation", "none")
_CODE_TABLES = {"highlighttable", "lntable", "rouge-table", "hljs-ln"}


class TextLayout(TextBlocks):
    """Takes strings and tags in document order; collapses white space and puts each block on its own lines.

    Links are resolved against `base_url`.
    """

    def __init__(self, base_url: str | None = None, *, depth: int = 0, budget: RepeatBudget | None = None) -> None:
        super().__init__(base_url)
        self._depth = depth
        self._budget = budget or RepeatBudget()
        self._table: _OpenTable | None = None

    def take(self) -> str:
        """Return the text so far and start over."""
        if self._table is not None:
            self._end_table(self._table)
        text = "".join(self._parts)
        self._clear()
        return text

    def add_string(self, node: NavigableString) -> None:
        """Add a text node; comments and declarations are ignored."""
        if isinstance(node, PreformattedString):
            return
        if self._table is not None and self._table.cell is not None:
            self._table.cell.add_string(node)
        elif self._preformatted:
            self._write_code(str(node))
        else:
            self._write_words(node if node.isascii() else node.translate(_INVISIBLE))

    def is_in_table(self) -> bool:
        """Whether a table is open."""
        return self._table is not None

    def add_block(self, text: str) -> None:
        """Add text that is laid out already."""
        self._request_breaks(2)
        self._write(text)
        self._request_breaks(2)

    def add_label(self, text: str) -> None:
        """Add the title of what follows; a paragraph shares its line."""
        if self._table is not None and self._table.cell is not None:
            self._table.cell.add_label(text)
            return
        self._request_breaks(2)
        self._write(" ".join(text.split()))
        self._end_label()

    def add_tag(self, tag: Tag, *, opens: bool) -> None:
        """Handle a tag that opens or closes."""
        if self._table is not None and self._table.handle(tag, opens=opens):
            if not opens and tag is self._table.tag:
                self._end_table(self._table)
            return
        name = tag.name
        if opens:
            self._request_breaks(_breaks_around(name))
            self._write_words(_describe_icon(tag, in_cell=self._depth > 0))
        if name in SPANS:
            if not self._preformatted:
                self._handle_span(tag, opens=opens)
        elif name in _HANDLERS:
            _HANDLERS[name](self, tag, opens)
        elif name in _LEAVES and opens:
            self._write_words(_LEAVES[name](tag))
        if opens:
            return
        self._request_breaks(_breaks_around(name))
        if self._parts and (_is_title(tag) or (name == "p" and _names_what_follows(tag))):
            self._end_label()

    def _handle_table(self, tag: Tag, opens: bool) -> None:
        if opens and self._depth < _MAX_TABLES and not self._preformatted and not lays_out(tag):
            self._table = _OpenTable(tag, self._base_url, self._depth + 1, self._budget)

    def _end_table(self, open_table: _OpenTable) -> None:
        table = open_table.finish()
        self._table = None
        text = table.write_inline() if self._depth else table.write()
        if text:
            self._break_line()
            self._write(text)
        self._request_breaks(2)


class _OpenTable:
    """A table that is being read; text outside its cells belongs to the layout around it."""

    def __init__(self, tag: Tag, base_url: str | None, depth: int, budget: RepeatBudget) -> None:
        self.tag = tag
        self.cell: TextLayout | None = None
        self._cell_tag: Tag | None = None
        self._base_url, self._depth, self._budget = base_url, depth, budget
        self._table = HtmlTable(budget)

    def handle(self, tag: Tag, *, opens: bool) -> bool:
        """Take a tag that opens or closes, unless it belongs to the layout around the table."""
        if tag is self.tag:
            return True
        if self.cell is not None and (self.cell.is_in_table() or tag.name not in _TABLE_PARTS):
            self.cell.add_tag(tag, opens=opens)
            return True
        if tag.name not in _TABLE_PARTS:
            return False
        if opens or tag is self._cell_tag:
            self._end_cell()
        if opens:
            self._open(tag)
        return True

    def finish(self) -> HtmlTable:
        """The table with its last cell."""
        self._end_cell()
        return self._table

    def _open(self, tag: Tag) -> None:
        if tag.name == "tr":
            self._table.start_row()
        elif tag.name in ("thead", "tbody", "tfoot"):
            self._table.start_group(in_head=tag.name == "thead")
        else:
            self.cell = TextLayout(self._base_url, depth=self._depth, budget=self._budget)
            self._cell_tag = tag

    def _end_cell(self) -> None:
        if self.cell is None or self._cell_tag is None:
            return
        text = self.cell.take().strip()
        tag, self.cell, self._cell_tag = self._cell_tag, None, None
        if tag.name == "caption":
            self._table.caption = " ".join(text.split())
        else:
            rows, columns = _read_span(tag, "rowspan", 65_534), max(1, _read_span(tag, "colspan", 1_000))
            is_header = tag.name == "th"
            self._table.add_cell(text, is_header=is_header, is_bold=_is_bold(tag), rows=rows, columns=columns)


def _is_title(tag: Tag) -> bool:
    return bool(tag.attrs) and any(_TITLE.match(name) for name in tag.get("class") or ())


def _names_what_follows(paragraph: Tag) -> bool:
    """Whether a paragraph is a heading without being marked up as one: short, in bold, and before something else."""
    following = next((node for node in paragraph.next_siblings if isinstance(node, Tag) or str(node).strip()), None)
    if not isinstance(following, Tag) or following.name not in _NAMED or not _is_bold(paragraph):
        return False
    text = paragraph.get_text().strip()
    return 0 < len(text) <= _MAX_LABEL_CHARS and not text.endswith((".", "!", "。", "！")) and not _is_bold(following)


def _is_bold(cell: Tag) -> bool:
    """Whether all that a cell holds is in bold."""
    nodes = [node for node in cell.contents if isinstance(node, Tag) or str(node).strip()]
    nodes = [
        node for node in nodes if getattr(node, "name", None) not in _TABLE_PARTS
    ]  # the next cell, if </td> is left out
    if len(nodes) == 1 and isinstance(nodes[0], Tag):
        return nodes[0].name in ("b", "strong") or (nodes[0].name == "p" and _is_bold(nodes[0]))
    return False


def lays_out(table: Tag) -> bool:
    """Whether a table places its cells instead of relating them: so it says, or it puts numbers beside code."""
    return table.get("role") in _LAYOUT_ROLES or not _CODE_TABLES.isdisjoint(table.get("class") or ())


def _read_span(tag: Tag, name: str, maximum: int) -> int:
    """A span as the HTML standard reads it; a row span of 0 reaches to the end of the group of rows."""
    value = str(tag.get(name) or "1").strip()
    return min(int(value), maximum) if _SPAN.fullmatch(value) else 1


def _breaks_around(name: str) -> int:
    return _BREAKS.get(name, 0) or int(is_block_component(name))


def is_block_component(name: str) -> bool:
    """Whether an element that HTML does not know is a tab, a panel or another block, by its name."""
    return name in _BLOCK_COMPONENTS or ("-" in name and not _BLOCK_KINDS.isdisjoint(name.split("-")[1:]))


def _describe_icon(tag: Tag, *, in_cell: bool) -> str:
    """What an element without text stands for: a mark in a cell of a table, or a picture.

    Before the type of a term, the sign that the style sheets of docutils and Sphinx add.
    """
    if tag.name == "span" and "classifier" in (tag.get("class") or ()):
        return " : "
    if tag.name not in ("i", "span") or tag.contents or not (in_cell or tag.get("role") == "img"):
        return ""
    label = tag.get("aria-label") or tag.get("title")
    return f" {label} " if label else ""


def _describe_drawing(tag: Tag) -> str:
    title = tag.find("title", recursive=False)
    return f" {tag.get('aria-label') or (title.get_text() if title else '')} "


_TABLE_PARTS = ("caption", "thead", "tbody", "tfoot", "tr", "td", "th", "colgroup", "col")
_LEAVES: dict[str, Callable[[Tag], str]] = {
    "svg": _describe_drawing,
    "math": read_formula,
    "time": lambda tag: "" if tag.contents else str(tag.get("datetime") or ""),
}
_HANDLERS: dict[str, Callable[[TextLayout, Tag, bool], None]] = {
    "br": TextLayout.handle_break,
    "code": TextLayout.handle_code,
    "q": TextLayout.handle_quote,
    "pre": TextLayout.handle_pre,
    "ul": TextLayout.handle_list,
    "ol": TextLayout.handle_list,
    "li": TextLayout.handle_item,
    "dl": TextLayout.handle_terms,
    "dt": TextLayout.handle_term,
    "dd": TextLayout.handle_definition,
    "select": TextLayout.handle_option,
    "option": TextLayout.handle_option,
    "input": TextLayout.handle_input,
    "table": TextLayout._handle_table,
    "img": TextLayout.handle_picture,
    "figcaption": TextLayout.handle_caption,
}
