"""Reads the tags of templates and components: Hugo's shortcodes, Liquid's and GitBook's tags, JSX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_TAG_CHARS = 4_000  # a longer one is text: a search for its end must not become a search through the file
_TITLES = ("title", "label", "heading", "header", "question", "caption", "summary", "name", "text", "alt", "term_id")
_DESCRIPTIONS = ("description", "subtitle")
_VALUE_TITLES = ("tabitem",)  # components that show their `value` where they have no label

_TEMPLATE_TAG = re.compile(r"\{\{<(.*?)/?>\}\}|\{\{%(.*?)/?%\}\}|\{%-?(.*?)-?%\}", re.DOTALL)
_NAME = re.compile(r"\s*(/?\s*[\w./@-]*)")
_JSX_NAME = re.compile(r"</?([A-Z][\w.]*)(?=[\s/>])|</?>")
_ATTRIBUTE = re.compile(
    r"""([\w:@.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`)\s*\}|`([^`]*)`)"""
)


class MarkupTag(NamedTuple):
    """A tag in running text. `end` is the position after it; `title` is what it shows to readers, if anything."""

    end: int
    name: str
    title: str


def match_template_tag(text: str, start: int) -> MarkupTag | None:
    """The shortcode or template tag that begins at `start`; None if there is none."""
    match = _TEMPLATE_TAG.match(text, start, start + MAX_TAG_CHARS)
    if match is None:
        return None
    inner = next(group for group in match.groups() if group is not None)
    name_match = _NAME.match(inner)
    name = re.sub(r"\s", "", name_match[1]) if name_match else ""
    return MarkupTag(match.end(), name, _read_title(name, inner))


def match_component(text: str, start: int) -> MarkupTag | None:
    """The opening or closing JSX tag that begins at `start`; None for a tag of HTML and for anything else."""
    match = _JSX_NAME.match(text, start)
    if match is None:
        return None
    if match[1] is None:
        return MarkupTag(match.end(), "", "")
    end = _find_tag_end(text, match.end())
    if end is None:
        return None
    return MarkupTag(end, match[1], _read_title(match[1], text[match.end() : end]))


def _find_tag_end(text: str, start: int) -> int | None:
    """The position after the ">" that ends a tag; those in strings and expressions do not."""
    quote, depth = "", 0
    for position in range(start, min(len(text), start + MAX_TAG_CHARS)):
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'`" and (depth or text[position - 1] == "="):
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == ">" and depth <= 0:
            return position + 1
    return None


def _read_title(name: str, attributes: str) -> str:
    values = read_attributes(attributes)
    titles = (*_TITLES, "value") if name.casefold() in _VALUE_TITLES else _TITLES
    title = next((values[key] for key in titles if values.get(key)), "")
    description = next((values[key] for key in _DESCRIPTIONS if values.get(key)), "")
    return ": ".join(dict.fromkeys(filter(None, (title, description))))


def read_attributes(text: str) -> Mapping[str, str]:
    """The attributes `name="value"` in a tag, with names in lower case."""
    return {
        match[1].casefold(): " ".join(next((group for group in match.groups()[1:] if group is not None), "").split())
        for match in _ATTRIBUTE.finditer(text)
    }
