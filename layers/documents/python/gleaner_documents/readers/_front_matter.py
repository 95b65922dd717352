"""Reads the metadata at the top of a Markdown file: YAML, TOML, JSON, or the plain lines of Pandoc and Pelican."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from gleaner.groups import Groups, InvalidGroups, check_groups
from gleaner_documents.readers._sections import shorten

# Real metadata has some hundred characters. The limit bounds what parsers are given: more is text.
MAX_FRONT_MATTER_CHARS = 65_536
# The first of these that holds text is taken; the names are those of Hugo, Jekyll, Docusaurus, Astro and MyST.
_TITLES = ("title",)
_DESCRIPTIONS = ("description", "summary", "excerpt", "lead", "subtitle")
_ADDRESSES = ("canonical_url", "canonicalurl", "canonical", "source_url", "url", "permalink", "original_url")

_GROUPS = "groups"

_COMMENTS = re.compile(r"(?:\s*<!--.*?-->)*\s*", re.DOTALL)
_FENCES = (
    (re.compile(r"---(?:ya?ml)?[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE), "yaml"),
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
_GROUPS_LINE = re.compile(rf"^[ \t]*['\"]?{_GROUPS}['\"]?[ \t]*[:=]", re.MULTILINE | re.IGNORECASE)
_OPENING = re.compile(r"---|\+\+\+|;;;")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
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
    return _as_text(_BLANK_LINE.split(head)[0]) if _OPENING.match(head) else _read_plain_lines(head, start)


def _as_text(block: str) -> FrontMatter:
    """What stands in the place of metadata is text, unless it seems to restrict the page. Raises InvalidGroups."""
    if _GROUPS_LINE.search(block):
        raise InvalidGroups(f"names {_GROUPS} in metadata that cannot be read")
    return FrontMatter()


def _read_plain_lines(head: str, start: int) -> FrontMatter:
    title_block = _TITLE_BLOCK.match(head)
    if title_block:
        return _make({"title": title_block[1]}, start + title_block.end())
    plain = _PLAIN_FIELDS.match(head)
    return (
        _make({name: value for name, _, value in _FIELD.findall(plain[0])}, start + plain.end())
        if plain
        else FrontMatter()
    )


def _skip_comments(text: str) -> int:
    match = _COMMENTS.match(text[:MAX_FRONT_MATTER_CHARS])
    return match.end() if match else 0


def _read_bare_json(head: str, start: int) -> FrontMatter:
    """Hugo's JSON: an object at the top, without fences."""
    try:
        fields, end = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return _as_text(_BLANK_LINE.split(head)[0])
    rest = head[end:]
    ends_line = not rest.strip() or rest.lstrip(" \t").startswith("\n")
    return _make(fields, start + end) if isinstance(fields, dict) and ends_line else FrontMatter()


def _parse(block: str, language: str) -> Mapping[Any, Any] | None:
    """The fields of a block; None if it is not metadata."""
    try:
        fields = _PARSERS[language](block)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return _salvage(block)
    if fields is None and all(line.startswith("#") or not line.strip() for line in block.split("\n")):
        return {}
    return fields if isinstance(fields, dict) else None


def _parse_yaml(block: str) -> Any:
    """Parse YAML with every scalar as a string.

    The base loader builds strings, lists and mappings only, whatever a tag asks for, and an anchor's value is shared
    and not copied: nothing is executed and nothing multiplies. `title: On` and `title: 2026-02-30` stay as written.
    """
    return yaml.load(block.replace("\t", "    "), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506


_PARSERS: Mapping[str, Callable[[str], Any]] = {"yaml": _parse_yaml, "toml": tomllib.loads, "json": json.loads}


def _salvage(block: str) -> dict[str, str] | None:
    """The plain fields of a block with a mistake, such as `title: Boats: a guide`; None if it reads like text."""
    lines = block.split("\n")
    if not all(_METADATA_LINE.fullmatch(line) for line in lines) or not any(map(_FIELD.match, lines)):
        return None
    return {name: value for name, _, value in _FIELD.findall(block)}


def _make(fields: Mapping[Any, Any], end: int) -> FrontMatter:
    values = {str(key).strip().casefold(): value for key, value in fields.items()}
    address = next(filter(None, (_read_address(values.get(name)) for name in _ADDRESSES)), None)
    return FrontMatter(
        end=end,
        title=shorten(_first_text(values, _TITLES)),
        description=_first_text(values, _DESCRIPTIONS),
        source_url=address,
        groups=_read_groups(values[_GROUPS]) if _GROUPS in values else (),
    )


def _read_groups(value: object) -> Groups:
    """A list, or the text of one where metadata has no lists. Raises InvalidGroups."""
    if not isinstance(value, str):
        return check_groups(value)
    try:
        return check_groups(json.loads(value))
    except (ValueError, RecursionError):
        return check_groups(value)


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
