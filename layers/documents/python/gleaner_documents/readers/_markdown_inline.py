"""Inline rules for the dialects of Markdown: tags of templates and components, attributes, wiki links."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline

from gleaner_documents.readers._markdown_blocks import label
from gleaner_documents.readers._markdown_marks import MAX_MARK_CHARS, add_mark_rules, parse_inside, write
from gleaner_documents.readers._markup_tags import (
    MAX_TAG_CHARS,
    MarkupTag,
    is_panel,
    match_component,
    match_template_tag,
    without_template_tags,
)

_ATTRIBUTE = r"(?:[#.][\w:.-]+|-|data-[\w-]+(?=[\s}])|[\w-]+=(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s{}\"'=]+))"
# `{#id .class}` of Pandoc and Docusaurus, `{: .class }` of kramdown and Python-Markdown.
_ATTRIBUTES = re.compile(rf"[ \t]*\{{(?::[^{{}}\n]*|\s*{_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*\s*)\}}")
# After a link, an image or code, attributes may also be without a value: `{ data-preview }`.
_BARE_ATTRIBUTES = re.compile(rf"\{{\s*(?:{_ATTRIBUTE}|[\w-]+)(?:\s+(?:{_ATTRIBUTE}|[\w-]+))*\s*\}}")
_EXPRESSION = re.compile(
    r"\{\s*(?:/\*.*?\*/|(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)|[A-Za-z_$][\w$.]*(?:\(\))?)\s*\}", re.DOTALL
)
_COMMENT = re.compile(r"\{/\*.*?\*/\}", re.DOTALL)
_ROLE = re.compile(r"\{[\w:+-]+\}(`+)([^`]+)\1(?!`)")
_ROLE_TARGET = re.compile(r"\s*<[^<>]*>$")
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]\s|][^\[\]|]*)(?:\\?\|([^\[\]]+))?\]\]")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp4|webm|mp3)$", re.IGNORECASE)
_TEMPLATE_ADDRESS = re.compile(r"\([^()\n{]{0,1000}(?:\{\{[^}\n]*\}\}|\{%[^}\n]*%\})[^()\n]*\)")
_COMPONENT_NAME = re.compile(r"<(?:/|(?=>)|([A-Z][\w.]*)(?![^<>]*/>))?")
_REFERENCE = re.compile(r"\[[\w.:/ -]*\](?!\[)")
_NEXT_LINE_REFERENCE = re.compile(r"\n[ \t]*\[([\w.:/ -]+)\](?![\[(:])")


def add_inline_rules(renderer: MarkdownIt, *, components: bool) -> None:
    """Add the rules. `components`: the file is MDX, so that braces hold expressions."""
    ruler = renderer.inline.ruler
    for name, rule in (("template_link", _template_link), ("wiki_link", _wiki_link)):
        ruler.before("link", name, rule)
    ruler.after("link", "unknown_reference", _unknown_reference)
    for name, rule in (
        ("role", _role),
        ("template_tag", _template_tag),
        ("attributes", _attributes),
    ):
        ruler.before("emphasis", name, rule)
    if components:
        ruler.before("emphasis", "expression", _expression)
    add_mark_rules(renderer)
    ruler.before("html_inline", "component", _component)


def _template_link(state: StateInline, silent: bool) -> bool:
    """A link to an address that a template makes: only its text can be known."""
    if state.src[state.pos] != "[":
        return False
    start = state.pos + 1
    end = state.md.helpers.parseLinkLabel(state, state.pos, True)
    match = _TEMPLATE_ADDRESS.match(state.src, end + 1, state.posMax) if end >= 0 else None
    return match is not None and parse_inside(state, start, end, match.end(), silent)


def _unknown_reference(state: StateInline, silent: bool) -> bool:
    """`[text][name]` with a name that is defined elsewhere, as mkdocs-autorefs has it; not `array[i][j]`.

    Python-Markdown lets the name stand on the next line. Also Pandoc's span, `[text]{.class}`.
    """
    start = state.pos + 1
    if state.src[state.pos] != "[" or (state.pos and re.match(r"[\w\]]", state.src[state.pos - 1])):
        return False
    end = state.md.helpers.parseLinkLabel(state, state.pos, True)
    after = (_REFERENCE, _ATTRIBUTES) if end >= 0 else ()
    match = next(filter(None, (pattern.match(state.src, end + 1, state.posMax) for pattern in after)), None)
    if match is not None:
        return parse_inside(state, start, end, match.end(), silent)
    return end >= 0 and _reference_on_next_line(state, start, end, silent)


def _reference_on_next_line(state: StateInline, start: int, end: int, silent: bool) -> bool:
    match = _NEXT_LINE_REFERENCE.match(state.src, end + 1, state.posMax)
    target = state.env.get("references", {}).get(normalizeReference(match[1])) if match else None
    if match is None or (target is None and "." not in match[1]):
        return False
    if target is not None and not silent:
        state.push("link_open", "a", 1).attrs = {"href": target["href"]}
    parse_inside(state, start, end, match.end(), silent)
    if target is not None and not silent:
        state.push("link_close", "a", -1)
    return True


def _wiki_link(state: StateInline, silent: bool) -> bool:
    match = _WIKI_LINK.match(state.src, state.pos, state.posMax) if state.src[state.pos] in "![" else None
    if match is None:
        return False
    embedded, target, text = match.groups()
    is_picture = bool(embedded) and _PICTURE.search(target)
    name = text or " › ".join(filter(None, re.split(r"#\^?", target)))
    return write(state, "" if is_picture else name.strip(), match.end(), silent)


def _tag(match_tag: Callable[[str, int], MarkupTag | None], state: StateInline, silent: bool) -> bool:
    """Drop a tag; its title stays, with a colon if the tag has a line of its own or opens a panel."""
    tag = match_tag(state.src, state.pos)
    if tag is None or tag.end > state.posMax:
        return False
    before = without_template_tags(_line_before(state)).strip()
    newline = state.src.find("\n", tag.end)
    after = state.src[tag.end : newline if newline >= 0 else len(state.src)].strip()
    text = tag.title
    if text and not before and (match_tag is match_component or not after):
        text = f"{label(text)}\n"
    elif text and is_panel(tag.name):
        text = f"\n{label(text)} "
    elif text and not before and state.src.find(f"/{tag.name}", tag.end, tag.end + MAX_TAG_CHARS) >= 0:
        text = f"{label(text)} "
    return write(state, text, tag.end, silent)


def _line_before(state: StateInline) -> str:
    return state.src[max(state.src.rfind("\n", 0, state.pos) + 1, state.pos - MAX_TAG_CHARS) : state.pos]


def _template_tag(state: StateInline, silent: bool) -> bool:
    return state.src[state.pos] == "{" and _tag(match_template_tag, state, silent)


def _component(state: StateInline, silent: bool) -> bool:
    """A tag of a component; not `List<String>`, and not a lone `<Name>` in a sentence."""
    before = _line_before(state)[-1:] if _line_before(state).strip() else ""
    match = _COMPONENT_NAME.match(state.src, state.pos) if state.src[state.pos] == "<" else None
    if match is None or (match[1] and before.isalnum()):
        return False
    is_placeholder = match[1] and before not in ("", ">") and f"</{match[1]}" not in state.src
    return not is_placeholder and _tag(match_component, state, silent)


def _role(state: StateInline, silent: bool) -> bool:
    """MyST's `{ref}` and others: the text in backticks is text; a name that explains it is left out."""
    match = _ROLE.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "{" else None
    if match is None:
        return False
    text = match[2].strip()
    return write(state, _ROLE_TARGET.sub("", text) or text, match.end(), silent)


def _attributes(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "{":
        return False
    limit = min(state.posMax, state.pos + MAX_MARK_CHARS)
    follows = state.pos > 0 and state.src[state.pos - 1] in ")]`"
    patterns = (*((_BARE_ATTRIBUTES,) if follows else ()), _ATTRIBUTES, _COMMENT)
    match = next(filter(None, (pattern.match(state.src, state.pos, limit) for pattern in patterns)), None)
    return match is not None and write(state, "", match.end(), silent)


def _expression(state: StateInline, silent: bool) -> bool:
    """MDX: a string in braces is text, a name stands for a value that is not known."""
    match = _EXPRESSION.match(state.src, state.pos, state.pos + MAX_MARK_CHARS) if state.src[state.pos] == "{" else None
    return match is not None and write(state, next(filter(None, match.groups()), ""), match.end(), silent)
