"""Lays out the elements of a page as plain Markdown: lists, tables and code stay readable."""

from __future__ import annotations

import re
from collections.abc import Callable

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from gleaner_documents.readers._formulas import read_formula
from gleaner_documents.readers._html_table import HtmlTable, RepeatBudget
from gleaner_documents.readers._text_line import SPANS, TextLine

# Line breaks around a block, as in a browser's plain text of a page: 2 leave a blank line.
_BREAKS = dict.fromkeys(
    ("p", "dl", "table", "pre", "blockquote", "figure", "section", "article", "details", "hr",
     "h1", "h2", "h3", "h4", "h5", "h6"), 2
) | dict.fromkeys(
    ("li", "tr", "td", "th", "div", "caption", "figcaption", "summary", "main", "header", "footer", "aside",
     "address", "fieldset", "legend", "form", "br", "optgroup"), 1
)  # fmt: skip
_MAX_TABLES = 4  # within each other; bounds the work on a page that nests them without end
_MAX_INDENTS = 9  # deeper items keep this indent: a wider space would be shortened when the text is cut
# Where a line may break: soft hyphen, zero-width space, word joiner, byte order mark.
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
# What names the block below it: Sphinx, sphinx-design, MkDocs, GitHub.
_TITLES = frozenset(("admonition-title", "sd-tab-label", "tab-label", "markdown-alert-title"))
_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.(?:png|jpe?g|gif|svg|webp|avif|bmp)", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,9}")
_MAX_TERM_CHARS = 80
_LAYOUT_ROLES = ("presentation", "none")
_CODE_TABLES = {"highlighttable", "lntable", "rouge-table", "hljs-ln"}


class TextLayout(TextLine):
    """Takes strings and tags in document order; collapses white space and puts each block on its own lines.

    Links are resolved against `base_url`.
    """

    def __init__(self, base_url: str | None = None, *, depth: int = 0, budget: RepeatBudget | None = None) -> None:
        super().__init__(base_url)
        self._depth = depth
        self._budget = budget or RepeatBudget()
        self._preformatted = 0
        self._lists: list[int | None] = []  # for each open list: the next number, None for a bullet list
        self._terms: list[str] = []  # of each open definition list: the term that is defined
        self._term: tuple[Tag, int] | None = None
        self._term_end = -1
        self._options = 0
        self._picture = ""
        self._caption: tuple[Tag, int] | None = None
        self._table: _OpenTable | None = None

    def take(self) -> str:
        """Return the text so far and start over."""
        if self._table is not None:
            self._end_table()
        text = "".join(self._parts)
        self._clear()
        self._term, self._term_end, self._caption = None, -1, None
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
                self._end_table()
            return
        name = tag.name
        if opens:
            self._request_breaks(_BREAKS.get(name, 0))
        if name in SPANS:
            if not self._preformatted:
                self._handle_span(tag, opens=opens)
        elif name in _HANDLERS:
            _HANDLERS[name](self, tag, opens)
        elif name in _LEAVES and opens:
            self._write_words(_LEAVES[name](tag))
        if opens:
            return
        self._request_breaks(_BREAKS.get(name, 0))
        if self._parts and not _TITLES.isdisjoint(tag.get("class") or ()):
            self._end_label()

    def _write_code(self, text: str) -> None:
        if self._parts[-1] == "```\n":
            text = text.removeprefix("\n")
        if text:
            self._write(text)

    def _request_breaks(self, breaks: int) -> None:
        if not breaks:
            return
        if self._preformatted:
            self._breaks = int(not self._parts[-1].endswith("\n"))
        elif not self._start:  # an item's first paragraph shares the line of its marker
            self._breaks = max(self._breaks, min(breaks, 1) if self._lists else breaks)

    def _break_line(self) -> None:
        """Begin a new line even after a marker or label."""
        self._start = ""
        self._request_breaks(1)

    def _end_label(self) -> None:
        """A paragraph after a label shares its line."""
        if not self._parts[-1].endswith(("\n", ":", "?", "!", ".", "：", "？", "…")):
            self._parts.append(":")
        self._breaks, self._space, self._start = 0, True, "label"

    def _handle_break(self, tag: Tag, opens: bool) -> None:
        if opens and self._preformatted:
            self._breaks = 0
            self._parts.append("\n")

    def _handle_code(self, tag: Tag, opens: bool) -> None:
        if self._preformatted:
            return
        self._code += 1 if opens else -1
        self._write("`") if opens else self._parts.append("`")

    def _handle_quote(self, tag: Tag, opens: bool) -> None:
        self._write("“") if opens else self._parts.append("”")

    def _handle_pre(self, tag: Tag, opens: bool) -> None:
        if opens:
            if not self._preformatted:
                self._break_line()
                self._write("```\n")
            self._preformatted += 1
            return
        self._preformatted -= 1
        if self._preformatted:
            return
        self._breaks = 0
        if self._parts[-1] == "```\n":
            self._parts.pop()
            if self._parts and not self._parts[-1].strip("\n"):
                self._breaks = len(self._parts.pop())
        else:
            self._write("```" if self._parts[-1].endswith("\n") else "\n```")

    def _handle_list(self, tag: Tag, opens: bool) -> None:
        if opens:
            if self._start == "label":
                self._break_line()
            start = str(tag.get("start") or "1")
            self._lists.append((int(start) if _NUMBER.fullmatch(start) else 1) if tag.name == "ol" else None)
        else:
            self._lists.pop()
        self._request_breaks(2)

    def _handle_item(self, tag: Tag, opens: bool) -> None:
        if not opens:
            return
        number = str(tag.get("value", ""))
        if _NUMBER.fullmatch(number) and self._lists and self._lists[-1] is not None:
            self._lists[-1] = int(number)
        self._write(self._next_marker())
        self._start = "item"

    def _next_marker(self) -> str:
        if not self._lists:
            return "- "
        indent = "  " * min(len(self._lists) - 1, _MAX_INDENTS)
        number = self._lists[-1]
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _handle_terms(self, tag: Tag, opens: bool) -> None:
        if opens:
            self._terms.append("")
        else:
            self._terms.pop()

    def _handle_term(self, tag: Tag, opens: bool) -> None:
        if not opens:
            self._end_term(tag)
            return
        self._end_term()
        if self._parts and self._term_end == len(self._parts):  # several terms share a definition
            self._parts.append(",")
            self._breaks, self._space = 0, True
        else:
            self._request_breaks(1)
        self._term = tag, len(self._parts)

    def _end_term(self, tag: Tag | None = None) -> None:
        if self._term is None or tag not in (None, self._term[0]):
            return
        term = "".join(self._parts[self._term[1] :]).strip()
        self._term = None
        if term:
            self._term_end = len(self._parts)
        if self._terms:
            self._terms[-1] = term if len(term) <= _MAX_TERM_CHARS and "\n" not in term else ""

    def _handle_definition(self, tag: Tag, opens: bool) -> None:
        if opens:
            self._end_term()
            if self._parts and self._term_end == len(self._parts):
                self._end_label()
            elif self._terms and self._terms[-1]:
                self._request_breaks(1)
                self._write(self._terms[-1])
                self._end_label()
        self._request_breaks(1)

    def _handle_option(self, tag: Tag, opens: bool) -> None:
        if tag.name == "select":
            self._options = 0
        elif tag.name == "option" and opens:
            if self._options and self._parts:
                self._parts.append(",")
                self._space = True
            self._options += 1

    def _handle_table(self, tag: Tag, opens: bool) -> None:
        if opens and self._depth < _MAX_TABLES and not self._preformatted and not lays_out(tag):
            self._table = _OpenTable(tag, self._base_url, self._depth + 1, self._budget)

    def _end_table(self) -> None:
        assert self._table is not None
        table = self._table.finish()
        self._table = None
        text = table.write_inline() if self._depth else table.write()
        if text:
            self._break_line()
            self._write(text)
        self._request_breaks(2)


    def _handle_picture(self, tag: Tag, opens: bool) -> None:
        if opens:
            self._picture = str(tag.get("alt") or "").strip()
            if not _FILE_NAME.fullmatch(self._picture):
                self._write_words(f" {self._picture} ")

    def _handle_caption(self, tag: Tag, opens: bool) -> None:
        """A caption that only repeats the text of the picture is left out."""
        if opens:
            self._caption = tag, len(self._parts)
        elif self._caption is not None and self._caption[0] is tag:
            start = self._caption[1]
            if "".join(self._parts[start:]).strip() == self._picture:
                del self._parts[start:]
            self._caption = None

    def _handle_input(self, tag: Tag, opens: bool) -> None:
        if not opens:
            return
        if tag.get("type") == "checkbox":
            self._write("[x]" if tag.has_attr("checked") else "[ ]")
            self._space = True
        else:
            self._write_words(str(tag.get("value") or ""))


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
            self._table.add_cell(text, is_header=tag.name == "th", rows=rows, columns=columns)


def lays_out(table: Tag) -> bool:
    """Whether a table places its cells instead of relating them: so it says, or it puts numbers beside code."""
    return table.get("role") in _LAYOUT_ROLES or not _CODE_TABLES.isdisjoint(table.get("class") or ())


def _read_span(tag: Tag, name: str, maximum: int) -> int:
    """A span as the HTML standard reads it; a row span of 0 reaches to the end of the group of rows."""
    value = str(tag.get(name) or "1").strip()
    return min(int(value), maximum) if value.isdecimal() and len(value) < 10 else 1


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
    "br": TextLayout._handle_break,
    "code": TextLayout._handle_code,
    "q": TextLayout._handle_quote,
    "pre": TextLayout._handle_pre,
    "ul": TextLayout._handle_list,
    "ol": TextLayout._handle_list,
    "li": TextLayout._handle_item,
    "dl": TextLayout._handle_terms,
    "dt": TextLayout._handle_term,
    "dd": TextLayout._handle_definition,
    "select": TextLayout._handle_option,
    "option": TextLayout._handle_option,
    "input": TextLayout._handle_input,
    "table": TextLayout._handle_table,
    "img": TextLayout._handle_picture,
    "figcaption": TextLayout._handle_caption,
}
