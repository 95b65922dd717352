"""Tells code blocks from MyST's directives, whose bodies are Markdown."""

from __future__ import annotations

import re

from gleaner_documents.readers._markdown_blocks import label
from gleaner_documents.readers._markup_tags import read_attributes

MAX_DEPTH = 10  # of directives in directives; deeper ones stay code

_DIRECTIVE = re.compile(r"\{\s*(?P<name>[\w:.-]+)\s*\}[ \t]*(?P<argument>.*)", re.DOTALL)
# Bodies that are Markdown. Any other name in braces is a language of Quarto or R Markdown, or code for Sphinx.
_TEXT = frozenset(
    "note tip hint important warning caution danger error attention seealso admonition todo versionadded "
    "versionchanged deprecated dropdown details card card-carousel grid grid-item grid-item-card tab-set tab-item "
    "tabs tab tabbed panels topic sidebar margin epigraph pull-quote highlights compound container figure figure-md "
    "table list-table glossary exercise solution proof prf:proof prf:theorem prf:definition theorem definition lemma "
    "example rubric centered only div aside div-content button-link button-ref hlist field-list abstract".split()
)
_NAVIGATION = frozenset(("toctree", "contents", "include", "image", "bibliography", "tableofcontents"))
_FILE_ARGUMENT = frozenset(("figure", "figure-md", "include", "image", "button-link", "button-ref"))
_FILE_NAMES = ("title", "filename", "file", "name", "caption")
_TAB_NAME = re.compile(r"(?<=\s)\[([^\W\d][^\[\]]*)\]$")  # VitePress: ```sh [npm]
_OPTIONS = re.compile(r"(?:[ \t]*:[\w-]+:(?:[ \t][^\n]*)?(?:\n|\Z))+|---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_OPTION = re.compile(r":(?:header|caption|title|alt|label-text):[ \t]*([^\n]+)")


def read_directive(info: str, content: str) -> tuple[str, str] | None:
    """Title and Markdown text of a fenced directive; None if the block is code."""
    if info.strip() == "mdx-code-block":  # Docusaurus' way to keep other tools from reading MDX as Markdown
        return "", content
    match = _DIRECTIVE.fullmatch(info.strip())
    if match is None:
        return None
    name = match["name"].casefold()
    if name in _NAVIGATION:
        return "", ""
    if name not in _TEXT:
        return None
    options = _OPTIONS.match(content)
    titles = [] if name in _FILE_ARGUMENT else [match["argument"].strip()]
    titles += _OPTION.findall(options.group()) if options else []
    return label(" ".join(filter(None, titles))), content[options.end() :] if options else content


def without_options(info: str, content: str) -> str:
    """The code of a directive such as `{code-block}`, without the options at its beginning."""
    options = _OPTIONS.match(content) if info.lstrip().startswith("{") else None
    return content[options.end() :] if options else content


def read_code_title(info: str) -> str:
    """The name of the file that a code block shows, which generators put above it: ```` ```yaml title="a.yml" ````.

    Or the name of its tab.
    """
    attributes = read_attributes(info)
    name = next((attributes[key] for key in _FILE_NAMES if attributes.get(key)), "")
    tab = _TAB_NAME.search(info)
    return label(name or (tab[1] if tab else ""))
