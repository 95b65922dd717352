"""Lays out the elements of a page as plain Markdown: lists, tables and code stay readable."""

from __future__ import annotations

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

# Line breaks around a block, as in a browser's plain text of a page: 2 leave a blank line.
_BREAKS = dict.fromkeys(
    ("p", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "section", "article", "details", "hr",
     "h1", "h2", "h3", "h4", "h5", "h6"), 2
) | dict.fromkeys(
    ("li", "tr", "dt", "dd", "div", "caption", "figcaption", "summary", "main", "header", "footer", "aside",
     "address", "fieldset", "form", "br"), 1
)  # fmt: skip


class TextLayout:
    """Takes strings and tags in document order; collapses white space and puts each block on its own lines."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self._preformatted = 0
        self._cell_depth = 0
        self._row: list[str] = []  # tag names of the row's cells so far: td, th
        self._at_item_start = False
        self._lists: list[int | None] = []  # for each open list: the next number, None for a bullet list

    def take(self) -> str:
        """Return the text so far and start over."""
        text = "".join(self._parts)
        self._parts, self._breaks, self._space = [], 0, False
        return text

    def add_string(self, node: NavigableString) -> None:
        """Add a text node; comments and declarations are ignored."""
        if isinstance(node, PreformattedString):
            return
        if self._preformatted:
            self._write(str(node))
            return
        words = node.split()
        self._space |= bool(node[:1].isspace())
        if words:
            self._write(" ".join(words))
            self._space = node[-1].isspace()

    def add_tag(self, tag: Tag, *, opens: bool) -> None:
        """Handle a tag that opens or closes."""
        name = tag.name
        if name in ("ul", "ol"):
            self._handle_list(tag, opens=opens)
        elif name in ("td", "th"):
            self._handle_cell(name, opens=opens)
        elif name == "code" and not self._preformatted:
            self._write("`") if opens else self._parts.append("`")
        elif name == "pre" and not opens:
            self._end_code()
        elif name == "img" and opens:
            self.add_string(NavigableString(f" {tag.get('alt') or ''} "))
        elif name == "tr" and not opens:
            self._end_row()
        self._request_breaks(_BREAKS.get(name, 0))
        if name == "li" and opens:
            self._write(self._next_marker())
            self._at_item_start = True
        elif name == "pre" and opens:
            self._preformatted += 1
            self._write("```\n")

    def _write(self, text: str) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        elif self._space and self._parts and not self._parts[-1].endswith((" ", "\n")):
            self._parts.append(" ")
        self._breaks, self._space, self._at_item_start = 0, False, False
        self._parts.append(text)

    def _request_breaks(self, breaks: int) -> None:
        if self._cell_depth:  # a row stays on one line
            self._space |= breaks > 0
        elif not self._at_item_start:  # an item's first paragraph shares the line of its marker
            self._breaks = max(self._breaks, min(breaks, 1) if self._lists else breaks)

    def _end_code(self) -> None:
        self._preformatted -= 1
        self._write("```" if self._parts[-1].endswith("\n") else "\n```")

    def _handle_list(self, tag: Tag, *, opens: bool) -> None:
        if not opens:
            self._lists.pop()
            return
        start = str(tag.get("start") or "1")
        numbered = tag.name == "ol"
        self._lists.append((int(start) if start.isdecimal() else 1) if numbered else None)

    def _next_marker(self) -> str:
        if not self._lists:
            return "- "
        indent = "  " * (len(self._lists) - 1)
        number = self._lists[-1]
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _handle_cell(self, name: str, *, opens: bool) -> None:
        """Only the outermost table has cells; a table inside a cell becomes part of its text."""
        if opens and not self._cell_depth:
            self._space = False
            self._write(" | " if self._row else "| ")
            self._row.append(name)
        self._cell_depth += 1 if opens else -1

    def _end_row(self) -> None:
        if self._row and not self._cell_depth:
            self._space = False
            self._write(" |")
            if set(self._row) == {"th"}:
                self._write("\n|" + " --- |" * len(self._row))
            self._row = []
