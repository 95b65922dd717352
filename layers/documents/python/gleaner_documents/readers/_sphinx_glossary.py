"""Reads Sphinx' glossaries: terms at the margin, one or several, and below them an indented definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList


class _Entry(NamedTuple):
    """Lines of `content`: those of the terms, and the slice of the definition."""

    terms: list[int]
    start: int
    end: int


def read_glossary(content: StringList, offset: int, state: Any) -> list[nodes.Node]:
    """A definition list of the entries in the body of a glossary, which begins at line `offset` of the file.

    Blank lines between a term and its definition do not part them (sphinx.domains.std, Glossary).
    """
    entries = nodes.definition_list()
    for terms, start, end in _split_entries(content):
        item = nodes.definition_list_item()
        for line in terms:
            name = content[line].partition(" : ")[0]  # what follows is for sorting
            inline, messages = state.inline_text(name.strip(), offset + line)
            item += nodes.term(name, "", *inline, *messages)
        definition = nodes.definition()
        body = content[start:end]
        body.trim_left(min((len(text) - len(text.lstrip()) for text in body if text.strip()), default=0))
        state.nested_parse(body, offset + start, definition)
        item += definition
        entries += item
    return [entries] if len(entries) else []


def _split_entries(content: StringList) -> Iterator[_Entry]:
    terms: list[int] = []
    start = 0
    for line, text in enumerate([*content, ""]):
        is_last = line == len(content)
        if not is_last and (not text.strip() or text[0].isspace() or text.startswith("..")):
            continue
        if terms and (is_last or any(below.strip() for below in content[start:line])):
            yield _Entry(terms, start, line)
            terms = []
        terms.append(line)
        start = line + 1
