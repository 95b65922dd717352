"""Lays out blocks as Markdown: lists, definitions, code, pictures, and the controls that stand in sentences."""

from __future__ import annotations

import re

from bs4 import Tag

from gleaner_documents.readers._text_line import TextLine

_MAX_INDENTS = 9  # deeper items keep this indent: a wider space would be shortened when the text is cut
_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.(?:png|jpe?g|gif|svg|webp|avif|bmp)", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,9}")
_MAX_TERM_CHARS = 80


class TextBlocks(TextLine):
    """A text line by line; each `handle_…` takes a tag that opens or closes."""

    def __init__(self, base_url: str | None) -> None:
        super().__init__(base_url)
        self._preformatted = 0
        self._lists: list[int | None] = []  # for each open list: the next number, None for a bullet list
        self._terms: list[str] = []  # of each open definition list: the term that is defined
        self._term: tuple[Tag, int] | None = None
        self._term_start = self._term_end = -1
        self._options = 0
        self._picture = ""
        self._caption: tuple[Tag, int] | None = None

    def _clear(self) -> None:
        super()._clear()
        self._term, self._term_end, self._caption = None, -1, None

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

    def handle_break(self, _: Tag, opens: bool) -> None:
        if opens and self._preformatted:
            self._breaks = 0
            self._parts.append("\n")

    def handle_code(self, _: Tag, opens: bool) -> None:
        if self._preformatted:
            return
        self._code += 1 if opens else -1
        self._write("`") if opens else self._parts.append("`")

    def handle_quote(self, _: Tag, opens: bool) -> None:
        self._write("“") if opens else self._parts.append("”")

    def handle_pre(self, _: Tag, opens: bool) -> None:
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

    def handle_list(self, tag: Tag, opens: bool) -> None:
        if opens:
            if self._start == "label":
                self._break_line()
            start = str(tag.get("start") or "1")
            self._lists.append((int(start) if _NUMBER.fullmatch(start) else 1) if tag.name == "ol" else None)
        else:
            self._drop_empty_item()
            self._lists.pop()
        self._request_breaks(2)

    def handle_item(self, tag: Tag, opens: bool) -> None:
        if not opens:
            return
        self._drop_empty_item()
        number = str(tag.get("value", ""))
        if _NUMBER.fullmatch(number) and self._lists and self._lists[-1] is not None:
            self._lists[-1] = int(number)
        self._write(self._next_marker())
        self._start = "item"

    def _drop_empty_item(self) -> None:
        if self._start == "item":
            self._parts.pop()
            self._start = ""
            if self._parts and not self._parts[-1].strip("\n"):
                self._breaks = len(self._parts.pop())

    def _next_marker(self) -> str:
        if not self._lists:
            return "- "
        indent = "  " * min(len(self._lists) - 1, _MAX_INDENTS)
        number = self._lists[-1]
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def handle_terms(self, _: Tag, opens: bool) -> None:
        if opens:
            self._terms.append("")
        else:
            self._terms.pop()

    def handle_term(self, tag: Tag, opens: bool) -> None:
        if not opens:
            self._end_term(tag)
            return
        self._end_term()
        if self._parts and self._term_end == len(self._parts):  # several terms share a definition
            self._parts.append(",")
            self._breaks, self._space = 0, True
        else:
            self._request_breaks(1)
            self._term_start = len(self._parts)
        self._term_start = max(self._term_start, len(self._parts) - _MAX_TERM_CHARS)
        self._term = tag, self._term_start

    def _end_term(self, tag: Tag | None = None) -> None:
        if self._term is None or tag not in (None, self._term[0]):
            return
        term = "".join(self._parts[self._term[1] :]).strip()
        self._term = None
        if term:
            self._term_end = len(self._parts)
        if self._terms:
            self._terms[-1] = term if len(term) <= _MAX_TERM_CHARS and "\n" not in term else ""

    def handle_definition(self, _: Tag, opens: bool) -> None:
        if opens:
            self._end_term()
            if self._parts and self._term_end == len(self._parts):
                self._end_label()
            elif self._start != "label" and self._terms and self._terms[-1]:  # an empty definition left its label
                self._request_breaks(1)
                self._write(self._terms[-1])
                self._end_label()
        self._request_breaks(1)

    def handle_option(self, tag: Tag, opens: bool) -> None:
        if tag.name == "select":
            self._options = 0
        elif tag.name == "option" and opens:
            if self._options and self._parts:
                self._parts.append(",")
                self._space = True
            self._options += 1

    def handle_picture(self, tag: Tag, opens: bool) -> None:
        if opens:
            self._picture = str(tag.get("alt") or "").strip()
            if not _FILE_NAME.fullmatch(self._picture):
                self._write_words(f" {self._picture} ")

    def handle_caption(self, tag: Tag, opens: bool) -> None:
        """A caption that only repeats the text of the picture is left out."""
        if opens:
            self._caption = tag, len(self._parts)
        elif self._caption is not None and self._caption[0] is tag:
            start = self._caption[1]
            if "".join(self._parts[start:]).strip() == self._picture:
                del self._parts[start:]
            self._caption = None

    def handle_input(self, tag: Tag, opens: bool) -> None:
        if not opens:
            return
        if tag.get("type") == "checkbox":
            self._write("[x]" if tag.has_attr("checked") else "[ ]")
            self._space = True
        else:
            self._write_words(str(tag.get("value") or ""))
