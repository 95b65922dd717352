"""Reads the metadata at the top of a Markdown file: YAML, TOML, JSON, or the plain lines of Pandoc and Pelican."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import yaml

from gleaner.groups import Groups, InvalidGroups
from gleaner_documents.readers._named_groups import read_groups, refuse_unread, to_fields
from gleaner_documents.readers._sections import shorten

# Real metadata has some hundred characters. The limit bounds what parsers are given: more is text.
MAX_FRONT_MATTER_CHARS = 65_536
_MAX_MEANT_CHARS = 1_000_000  # of what has no end as metadata has, and may name groups all the same
# The first of these that holds text is taken; the names are those of Hugo, Jekyll, Docusaurus, Astro and MyST.
_TITLES = ("title",)
_DESCRIPTIONS = ("description", "summary", "excerpt", "lead", "subtitle")
_ADDRESSES = ("canonical_url", "canonicalurl", "canonical", "source_url", "url", "permalink", "original_url")

_COMMENTS = re.compile(r"(?:\s*<!--.*?-->)*\s*", re.DOTALL)
_FENCES = (
    (
        re.compile(
            r"(?:%[A-Z][^\n]*\n)*---(?:ya?ml)?[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
        ),
        "yaml",
    ),
    (re.compile(r"(?:\+\+\+|---toml)[ \t]*\n(.*?)^(?:\+\+\+|---)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE), "toml"),
    (re.compile(r"(?:;;;|---json)[ \t]*\n(.*?)^(?:;;;|---)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE), "json"),
)
# Without fences: `% Title`, `% Author`, `% Date` of Pandoc; `Title: …` and further fields of MultiMarkdown and Pelican.
_TITLE_BLOCK = re.compile(r"%[ \t]+(\S.*(?:\n[ \t]+\S.*)*)\n(?:%.*\n(?:[ \t]+\S.*\n)*){0,2}(?=[ \t]*\n|\Z)")
_PLAIN_FIELDS = re.compile(
    r"title:[ \t]*\S.*(?:\n[A-Za-z][\w -]{0,40}:.*|\n[ \t]+\S.*)*(?:\n[ \t]*\n|\n?\Z)", re.IGNORECASE
)
_METADATA_LINE = re.compile(r"[\w.-]+[ \t]*[:=].*|['\"][^'\"]+['\"][ \t]*:.*|[ \t]+.*|- .*|-|[\]}\[].*|#.*|[ \t]*")
_FIELD = re.compile(r"^['\"]?([\w.-]+)['\"]?[ \t]*[:=][ \t]*(['\"]?)(.*?)\2[ \t]*$", re.MULTILINE)
_OPENING = re.compile(r"(?:%[A-Z].*\n)*(?:---|\+\+\+|;;;).*\n?|\{")
_FIELDS_AT_TOP = re.compile(r"[A-Za-z][\w -]{0,40}:.*(?:\n[A-Za-z][\w -]{0,40}:.*|\n[ \t]+\S.*)*(?=\n[ \t]*\n|\n?\Z)")
_MERGE = "<<"  # takes over the fields of another mapping of YAML
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<%.*?%>")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What the metadata says of the page. `end` is where the text of the file begins."""

    end: int = 0
    title: str = ""
    description: str = ""
    source_url: str | None = None
    groups: Groups = ()


def read_front_matter(text: str) -> FrontMatter:
    """The metadata of a Markdown file. What is no metadata, or too long for it, is left to be read as text.

    Raises InvalidGroups if the metadata names groups in a way that cannot be read.
    """
    # Only comments and blank lines may stand before it: "---" further down is a rule.
    start = _skip_comments(text)
    head = text[start : start + MAX_FRONT_MATTER_CHARS]
    if head.startswith("{"):
        return _read_bare_json(head, start)
    for fence, language in _FENCES:
        match = fence.match(head)
        if match:
            fields = _parse(match[1], language)
            return _as_text(match[1]) if fields is None else _make(fields, start + match.end())
    return _as_text(_find_block(text[start:])) if _OPENING.match(head) else _read_plain_lines(head, start)


def _as_text(block: str) -> FrontMatter:
    """What stands in the place of metadata is text, unless it seems to restrict the page. Raises InvalidGroups."""
    refuse_unread(block)
    return FrontMatter()


def _find_block(text: str) -> str:
    """What was meant to be metadata, where its end is missing or too far: its lines, and those of the paragraph.

    A blank line after the opening makes a rule of it.
    """
    opening = _OPENING.match(text)
    lines = iter(text[opening.end() if opening else 0 : _MAX_MEANT_CHARS].split("\n"))
    block = list(takewhile(str.strip, lines))
    if block and all(map(_METADATA_LINE.fullmatch, block)):
        block += takewhile(_METADATA_LINE.fullmatch, lines)
    return "\n".join(block)


def _read_plain_lines(head: str, start: int) -> FrontMatter:
    title_block = _TITLE_BLOCK.match(head)
    if title_block:
        below = head[title_block.end() :].lstrip()
        if _OPENING.match(below):  # Pandoc takes metadata there, too
            _as_text(_find_block(below))
        return _make({"title": title_block[1]}, start + title_block.end())
    if plain := _PLAIN_FIELDS.match(head):
        return _make(_plain_fields(plain[0]), start + plain.end())
    if at_top := _FIELDS_AT_TOP.match(head):
        _refuse_fields(_plain_fields(at_top[0]))
    return FrontMatter()


def _plain_fields(block: str) -> dict[str, str]:
    return to_fields((name, value) for name, _, value in _FIELD.findall(block))


def _refuse_fields(fields: Mapping[str, str]) -> None:
    """Raise InvalidGroups if lines at the top that do not begin with a title are metadata, and name groups."""
    is_metadata = any(value.startswith("[") or name.casefold() in _TITLES for name, value in fields.items())
    if is_metadata and read_groups(fields):
        raise InvalidGroups("names groups in metadata that does not begin with its title")


def _skip_comments(text: str) -> int:
    match = _COMMENTS.match(text[:MAX_FRONT_MATTER_CHARS])
    return match.end() if match else 0


def _read_bare_json(head: str, start: int) -> FrontMatter:
    """Hugo's JSON: an object at the top, without fences."""
    try:
        fields, end = json.JSONDecoder(object_pairs_hook=to_fields).raw_decode(head)
    except (ValueError, RecursionError):
        return _as_text(head.partition("\n}")[0] if "\n}" in head else head.partition("\n\n")[0])
    rest = head[end:]
    ends_line = not rest.strip() or rest.lstrip(" \t").startswith("\n")
    return _make(fields, start + end) if ends_line else _as_text(head[:end])


def _parse(block: str, language: str) -> Mapping[Any, Any] | None:
    """The fields of a block; None if it is not metadata."""
    try:
        fields = _PARSERS[language](block)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        salvaged = _salvage(block)
        if not (salvaged and read_groups(salvaged)):  # they may stand where only a parser finds them
            refuse_unread(block)
        return salvaged
    if fields is None and all(line.startswith("#") or not line.strip() for line in block.split("\n")):
        return {}
    return fields if isinstance(fields, dict) else None


def _parse_yaml(block: str) -> Any:
    """Parse YAML with every scalar as a string.

    The base loader builds strings, lists and mappings only, whatever a tag asks for, and an anchor's value is shared
    and not copied: nothing is executed and nothing multiplies. `title: On` and `title: 2026-02-30` stay as written.
    """
    return yaml.load(block.replace("\t", "    "), Loader=_Loader)  # noqa: S506


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc] # one of two classes
    """Builds strings, lists and mappings, and takes over what a merge key names."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, whose own fields count before those that it takes over."""
        to_fields((key.value, None) for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        fields = dict(super().construct_mapping(node, deep=deep))
        others = fields.pop(_MERGE, None)
        for other in others if isinstance(others, list) else [others]:
            fields = (other | fields) if isinstance(other, dict) else fields
        return fields


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "yaml": _parse_yaml,
    "toml": tomllib.loads,
    "json": partial(json.loads, object_pairs_hook=to_fields),
}


def _salvage(block: str) -> dict[str, str] | None:
    """The plain fields of a block with a mistake, such as `title: Boats: a guide`; None if it reads like text."""
    lines = block.split("\n")
    if not all(_METADATA_LINE.fullmatch(line) for line in lines) or not any(map(_FIELD.match, lines)):
        return None
    return _plain_fields(block)


def _make(fields: Mapping[Any, Any], end: int) -> FrontMatter:
    values = {str(key).strip().casefold(): value for key, value in fields.items()}
    address = next(filter(None, (_read_address(values.get(name)) for name in _ADDRESSES)), None)
    return FrontMatter(
        end=end,
        title=shorten(_first_text(values, _TITLES)),
        description=_first_text(values, _DESCRIPTIONS),
        source_url=address,
        groups=read_groups(fields),
    )


def _first_text(values: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of the named fields that holds text, on one line and without templates."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str | int | float) or hasattr(value, "isoformat"):
            text = " ".join(_TEMPLATE.sub(" ", str(value)).split())
            if text:
                return text
    return ""


def _read_address(value: object) -> str | None:
    """An absolute web address; a path of the site says nothing without its host."""
    address = value.strip() if isinstance(value, str) else ""
    return address if _WEB_ADDRESS.fullmatch(address) else None
