"""Reads the tags of templates and components: Hugo's shortcodes, Liquid's and GitBook's tags, JSX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_TAG_CHARS = 4_000  # a longer one is text: a search for its end must not become a search through the file
_TITLES = tuple("title label heading header question caption summary name text alt content term_id status date".split())
_DESCRIPTIONS = ("description", "subtitle")
_GROUPS = ("tabs", "tabpane", "tabset")  # their names are not shown
# Components that show another attribute where they have no title: Docusaurus' tabs, Mintlify's parameters.
_OWN_TITLES = {"tabitem": ("value",), "paramfield": ("path", "query", "body")}
_FIELDS = ("paramfield", "responsefield")
# Shortcodes whose title may be their first string: `{{< tab "Linux" >}}`, `{{% notice note "Winter" %}}`.
_PANELS = frozenset("tab tabitem details expand collapse accordion spoiler panel card step notice".split())
_FIRST_STRING = re.compile(r"""\s*[\w./-]+(?:\s+\w+)?\s+(?:"([^"]*)"|'([^']*)'|`([^`]*)`)""")

_TEMPLATE_SIGNS = (("{{<", ">}}"), ("{{%", "%}}"), ("{%", "%}"))
_LIQUID_TAG = re.compile(r"\{%-?[^%]{0,1000}-?%\}|\{\{[<%][^}]{0,1000}[>%]\}\}")
_NAME = re.compile(r"\s*(/?\s*[\w./@-]*)")
_JSX_NAME = re.compile(r"</?([A-Z][\w.]*)(?=[\s/>])|</?>")
# The end of a tag is a ">" outside strings and expressions; expressions may hold two further levels of braces.
_JSX_REST = re.compile(r"""(?:[^<>{}"']|"[^"]*"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+>""")
_BARE_NAME = re.compile(r"\s*tab(?:\s+[\w-]+)?\s+([\w+#.-]+)\s*-?")  # jekyll-tabs: the group and the tab
_REQUIRED = re.compile(r"\srequired(?=[\s/>]|=\{true\})")
_ATTRIBUTE = re.compile(
    r"""([\w:@.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`)\s*\}|`([^`]*)`)"""
)
# Cards and options that a component is given as data: `cards={[{ title: "Fees", description: "What to pay" }]}`.
_PROPERTY = re.compile(
    rf"""\b({"|".join((*_TITLES, *_DESCRIPTIONS))})["']?\s*:\s*(?:"([^"\\]*)"|'([^'\\]*)'|`([^`\\]*)`)"""
)
# Icons that say yes and no in tables of what is supported.
_ICONS = {
    **dict.fromkeys(("check", "checkicon", "checkmark", "tick", "yes", "supported"), "✓"),
    **dict.fromkeys(("cross", "crossicon", "crossmark", "xicon", "xmark", "no", "unsupported"), "✗"),
}


class MarkupTag(NamedTuple):
    """A tag in running text. `end` is the position after it; `title` is what it shows to readers, if anything."""

    end: int
    name: str
    title: str


def match_template_tag(text: str, start: int) -> MarkupTag | None:
    """The shortcode or template tag that begins at `start`; None if there is none."""
    signs = next((signs for signs in _TEMPLATE_SIGNS if text.startswith(signs[0], start)), None)
    if signs is None:
        return None
    end = text.find(signs[1], start, start + MAX_TAG_CHARS)
    if end < 0:
        return None
    inner = text[start + len(signs[0]) : end].lstrip("-")
    name_match = _NAME.match(inner)
    name = re.sub(r"\s", "", name_match[1]) if name_match else ""
    return MarkupTag(end + len(signs[1]), name, _read_title(name, inner))


def match_component(text: str, start: int) -> MarkupTag | None:
    """The opening or closing JSX tag that begins at `start`; None for a tag of HTML and for anything else."""
    match = _JSX_NAME.match(text, start)
    if match is None:
        return None
    if match[1] is None:
        return MarkupTag(match.end(), "", "")
    rest = _JSX_REST.match(text, match.end(), match.end() + MAX_TAG_CHARS)
    return MarkupTag(rest.end(), match[1], _read_title(match[1], rest.group())) if rest else None


def without_template_tags(html: str) -> str:
    """HTML without the template tags in it."""
    return _LIQUID_TAG.sub("", html)


def _read_title(name: str, attributes: str) -> str:
    values = read_attributes(attributes)
    if name.casefold() in _GROUPS:
        return ""
    titles = (*_TITLES, *_OWN_TITLES.get(name.casefold(), ()))
    title = next((values[key] for key in titles if values.get(key)), "") or _read_first_string(name, attributes)
    if name.casefold() in _FIELDS:
        title = _add_type(title, values, is_required=_REQUIRED.search(attributes) is not None)
    description = next((values[key] for key in _DESCRIPTIONS if values.get(key)), "")
    endpoint = f"{values['method'].upper()} {values['path']}" if values.get("method") and values.get("path") else ""
    shown = ": ".join(dict.fromkeys(filter(None, (endpoint, title, description))))
    return (shown or _read_items(attributes) or _ICONS.get(name.casefold(), "")).replace("**", "")


def _read_items(attributes: str) -> str:
    """The titles and descriptions in the data of a component: "Fees: What to pay; Berths"."""
    items: list[str] = []
    for match in _PROPERTY.finditer(attributes):
        text = next(filter(None, match.groups()[1:]), "")
        if items and match[1] in _DESCRIPTIONS:
            items[-1] += f": {text}"
        elif text:
            items.append(text)
    return "; ".join(items)


def is_panel(name: str) -> bool:
    """Whether a tag has a title and a body, such as a tab."""
    return name.casefold() in _PANELS


def _read_first_string(name: str, parameters: str) -> str:
    match = _FIRST_STRING.match(parameters) if is_panel(name) else None
    if match is None and name.casefold() == "tab":
        match = _BARE_NAME.fullmatch(parameters)
    return next(filter(None, match.groups()), "") if match else ""


def _add_type(name: str, values: Mapping[str, str], *, is_required: bool) -> str:
    """What a reader sees beside the name of a parameter: its type and its default."""
    default = f"default {values['default']}" if values.get("default") else ""
    notes = ", ".join(filter(None, (values.get("type", ""), default, "required" if is_required else "")))
    return f"{name} ({notes})" if name and notes else name


def read_attributes(text: str) -> Mapping[str, str]:
    """The attributes `name="value"` in a tag, with names in lower case."""
    return {
        match[1].casefold(): " ".join(next((group for group in match.groups()[1:] if group is not None), "").split())
        for match in _ATTRIBUTE.finditer(text)
    }
