"""Teaches docutils, while a document is read, the directives and roles of Sphinx and any that it does not know.

Sphinx, too, sets the two look-up functions of docutils for the time of reading (sphinx.util.docutils,
CustomReSTDispatcher).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.utils import unescape

from gleaner_documents.readers._sphinx_glossary import read_glossary

# The body is code.
_CODE = frozenset(
    "code-block sourcecode code-tab prompt ipython doctest testcode testoutput testsetup testcleanup parsed-literal "
    "jupyter-execute ipython3 productionlist mermaid graphviz digraph graph uml plantuml command-output".split()
)
# Lists of other pages, settings, and what a program would write there.
_DROPPED = frozenset(
    "toctree index highlight highlightlang currentmodule module py:module py:currentmodule default-domain "
    "tabularcolumns contents sectnum include literalinclude raw meta date title default-role autosummary automodule "
    "sectionauthor codeauthor moduleauthor cssclass rst-class bibliography acks genindex".split()
)
# The argument is a setting, not a title.
_WITHOUT_TITLE = frozenset(
    "only ifconfig container grid grid-item grid-item-card tab-set tabs hlist class versions details toggle panels "
    "card-carousel glossary list-table table".split()
)
_OBJECT_ROLES = frozenset("func meth attr class exc data const mod obj type macro member".split())
_TITLES = {
    "versionadded": "New in version {}",
    "versionchanged": "Changed in version {}",
    "versionremoved": "Removed in version {}",
    "deprecated": "Deprecated since version {}",
    "seealso": "See also",
    "todo": "To do",
}
# Descriptions of objects: `.. function:: open(path)`, `.. py:class:: Path`, `.. confval:: html_theme`.
_OBJECTS = frozenset(
    "function method class attribute data exception decorator module property variable macro type struct enum member "
    "confval envvar option cmdoption program describe object setting command rst:directive rst:role autofunction "
    "autoclass automethod autoattribute autodata autoexception event".split()
)
_FACTS = ("type", "value", "default")  # options of these descriptions that Sphinx shows
_EXPLICIT_TITLE = re.compile(r"(.+?)\s*(?<!\\)<([^<>]+)>", re.DOTALL)
# `.. _label:` above a title with its underline: a reference to the label reads as the title.
_LABELED_TITLE = re.compile(
    r"^\.\. _(`?)([^:`\n]+)\1:[ \t]*\n+(?:([=\-~^\"'#*+.:_`])\3+\n)?(\S[^\n]*)\n([=\-~^\"'#*+.:_`])\5\5", re.MULTILINE
)
_TITLE_MARKUP = re.compile(r"(?::[\w:-]+:)?`+([^`<>]+?)(?:\s*<[^<>]*>)?`+_{0,2}")
# Fields at the top of a file that Sphinx reads and does not show.
_METADATA = re.compile(r"\A\s*(?:(?::(?:orphan|tocdepth|nocomments|nosearch|no-search|groups):[^\n]*(?:\n\s*|\Z))+)")
_TOP_FIELD = re.compile(r":([^:\n]+):(?:[ \t]+(.*))?")
_ADORNMENT = re.compile(r"([^\w\s])\1{2,}[ \t]*")
_CODE_ROLES = frozenset("command file samp envvar kbd option program regexp token mimetype makevar code".split())


class _AnyOptions(dict[str, Callable[[str | None], str]]):
    """Accepts every option of a directive and leaves its value alone."""

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> Callable[[str | None], str]:
        return lambda value: value or ""


class _UnknownDirective(Directive):  # type: ignore[misc]  # docutils has no types
    """A directive that docutils does not know: its body is text, and its argument the title of that."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOptions()

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        argument = self.arguments[0] if self.arguments else ""
        if name in _DROPPED:
            return []
        if name in _CODE:
            return self._code(argument if name == "prompt" else "")
        if name == "glossary":
            return read_glossary(self.content, self.content_offset, self.state)
        if name in _OBJECTS or ":" in name:
            return self._describe(argument)
        return [*self._title(name, argument), *self._parse_body()]

    def _code(self, argument: str) -> list[nodes.Node]:
        text = "\n".join(self.content) or argument
        caption = self.options.get("caption", "")
        block = [nodes.literal_block(text, text)] if text else []
        return [self._paragraph(caption), *block] if caption else block

    def _describe(self, argument: str) -> list[nodes.Node]:
        """The signatures, one a line, and what is said about them."""
        signatures = [line.strip() for line in argument.split("\n") if line.strip()]
        lines = [nodes.paragraph("", "", nodes.literal(signature, signature)) for signature in signatures]
        stated = ((name, self.options.get(name)) for name in _FACTS)
        facts = [self._paragraph(value, before=f"{name.capitalize()}: ") for name, value in stated if value]
        return [*lines, *facts, *self._parse_body()]

    def _title(self, name: str, argument: str) -> list[nodes.Node]:
        if name in _TITLES:
            return self._announce(_TITLES[name], argument)
        title, _, rest = argument.partition("\n")  # a body without a blank line above it counts as argument
        if not title or name in _WITHOUT_TITLE or title.isdecimal() or not (rest or self.content):
            return self._keep_argument(name, argument)
        heading = self._paragraph(title, wrapper=nodes.strong())
        heading["classes"].append("admonition-title")  # a label of what follows
        return [heading, *([self._paragraph(rest)] if rest else [])]

    def _announce(self, title: str, argument: str) -> list[nodes.Node]:
        """A version or "See also" before the text: "New in version 3.2: the option"."""
        version, text = ([*argument.split(None, 1), "", ""])[:2] if "{}" in title else ("", argument)
        stop = ": " if text or self.content else "."
        return [self._paragraph(text, before=title.format(version) + stop)]

    def _paragraph(self, text: str, *, before: str = "", wrapper: nodes.Element | None = None) -> nodes.Element:
        inline, messages = self.state.inline_text(text, self.lineno)
        if wrapper is not None:
            wrapper.extend(inline)
            inline = [wrapper]
        return nodes.paragraph("", "", nodes.Text(before), *inline, *messages)

    def _keep_argument(self, name: str, argument: str) -> list[nodes.Node]:
        """An argument without a body is a line of text, unless it is a setting, a number or a file."""
        if self.content or not argument or name in _WITHOUT_TITLE or argument.isdecimal() or self.options:
            return []
        is_address = " " not in argument and ("/" in argument or "." in argument)
        return [] if is_address else [nodes.paragraph("", argument)]

    def _parse_body(self) -> list[nodes.Node]:
        node = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, node, match_titles=1)
        return list(node.children)


def _read_role(titles: dict[str, str]) -> Callable[..., tuple[list[nodes.Node], list[nodes.Node]]]:
    """A role that reads as its text: `:ref:`fees <fees>`` as "fees", `:class:`~gleaner.Document`` as "Document".

    A label of another file reads as its words, since its title is not known: `:ref:`winter-fees`` as "winter fees".
    """

    def read(name: str, rawtext: str, text: str, *_: object, **__: object) -> tuple[list[nodes.Node], list[nodes.Node]]:
        plain = unescape(text).strip()
        kind = name.lower().rpartition(":")[2]
        explicit = _EXPLICIT_TITLE.fullmatch(plain)
        if explicit:
            return [nodes.Text(explicit.group(1))], []
        if kind in ("ref", "numref", "any") and " " not in plain:
            return [nodes.Text(titles.get(plain.lower()) or re.sub(r"[-_]+", " ", plain.lstrip("!")).strip())], []
        if kind in ("ref", "numref", "doc", "term", "any", "index"):
            return [nodes.Text(titles.get(plain.lower(), plain.lstrip("!")))], []
        if kind in ("menuselection", "guilabel"):
            return [nodes.Text(plain.replace("-->", ">").replace("&", ""))], []
        if kind in _CODE_ROLES or ":" in name or kind in _OBJECTS or kind in _OBJECT_ROLES:
            target = plain.lstrip("!")
            shown = target.rpartition(".")[2] if target.startswith("~") else target
            return [nodes.literal(rawtext, shown.lstrip("~"))], []
        return [nodes.Text(plain)], []

    return read


def _with_title(known: Callable[..., Any], read: Callable[..., Any]) -> Callable[..., Any]:
    """A role of docutils that may have a title in Sphinx: `:pep:`the rules <503#names>``."""

    def run(name: str, rawtext: str, text: str, *context: Any, **options: Any) -> Any:
        return (read if _EXPLICIT_TITLE.fullmatch(unescape(text).strip()) else known)(
            name, rawtext, text, *context, **options
        )

    return run


def without_metadata(text: str) -> str:
    """The text without the fields at its top that are for Sphinx."""
    return _METADATA.sub("", text)


def fields_at_top(text: str) -> Iterator[tuple[str, str]]:
    """The fields before the first text of a file, above and below its title, as docutils reads them (docinfo)."""
    lines = [*text.removeprefix("\ufeff").splitlines(), ""]
    for line, following in pairwise(lines):
        if line[:1].isspace() or not line.strip():  # what goes on, and blank lines
            continue
        if field := _TOP_FIELD.fullmatch(line):
            yield field[1], (field[2] or "").strip()
        elif not (line.startswith("..") or _ADORNMENT.fullmatch(line) or _ADORNMENT.fullmatch(following)):
            return


@contextmanager
def sphinx_markup(text: str) -> Iterator[None]:
    """Let docutils know the markup of Sphinx while it reads `text`."""
    labels = _LABELED_TITLE.finditer(text)
    titles = {match[2].lower(): _TITLE_MARKUP.sub(r"\1", match[4]).strip() for match in labels}
    find_directive, find_role = directives.directive, roles.role
    read = _read_role(titles)

    def directive(name: str, *context: Any) -> Any:
        if name.lower() in _DROPPED | _CODE:
            return _UnknownDirective, []
        known, messages = find_directive(name, *context)
        return (known, messages) if known is not None else (_UnknownDirective, [])

    def role(name: str, *context: Any) -> Any:
        known, messages = find_role(name, *context)
        if known is None or name.lower() == "code":
            return read, []
        return (_with_title(known, read) if name.lower() in ("pep", "rfc") else known), messages

    directives.directive, roles.role = directive, role
    try:
        yield
    finally:
        directives.directive, roles.role = find_directive, find_role
