"""Teaches docutils, while a document is read, the directives and roles of Sphinx and any that it does not know.

Sphinx, too, sets the two look-up functions of docutils for the time of reading (sphinx.util.docutils,
CustomReSTDispatcher).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.utils import unescape

# The body is code.
_CODE = frozenset(
    "code-block sourcecode code-tab prompt ipython doctest testcode testoutput testsetup testcleanup parsed-literal "
    "jupyter-execute ipython3 productionlist mermaid graphviz digraph graph uml plantuml command-output".split()
)
# Lists of other pages, settings, and what a program would write there.
_DROPPED = frozenset(
    "toctree index highlight highlightlang currentmodule module py:module py:currentmodule default-domain tabularcolumns "
    "contents sectnum include literalinclude raw meta date title default-role autosummary automodule sectionauthor "
    "codeauthor moduleauthor cssclass rst-class bibliography acks genindex".split()
)
# The argument is a setting, not a title.
_WITHOUT_TITLE = frozenset(
    "only ifconfig container grid grid-item grid-item-card tab-set tabs hlist class versions details toggle panels card-carousel "
    "glossary list-table table".split()
)
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
_EXPLICIT_TITLE = re.compile(r"(.+?)\s*(?<!\\)<([^<>]+)>$", re.DOTALL)
_LABEL = re.compile(r"^\.\. _(`?)([^:`\n]+)\1:[ \t]*\n(?:\s*\n|\.\. .*\n)*([^\s.][^\n]*)\n([=\-~^\"'#*+.:_`])\4{2,}", re.MULTILINE)


class _AnyOptions(dict[str, Callable[[str | None], str]]):
    """Accepts every option of a directive and leaves its value alone."""

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> Callable[[str | None], str]:
        return lambda value: value or ""


class _UnknownDirective(Directive):
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
        if name in _OBJECTS or ":" in name:
            return self._describe(argument)
        return [*self._title(name, argument), *self._parse_body()]

    def _code(self, argument: str) -> list[nodes.Node]:
        text = "\n".join(self.content) or argument
        return [nodes.literal_block(text, text)] if text else []

    def _describe(self, argument: str) -> list[nodes.Node]:
        """The signatures, one a line, and what is said about them."""
        signatures = [line.strip() for line in argument.split("\n") if line.strip()]
        lines = [nodes.paragraph("", "", nodes.literal(signature, signature)) for signature in signatures]
        return [*lines, *self._parse_body()]

    def _title(self, name: str, argument: str) -> list[nodes.Node]:
        if name in _TITLES:
            version, _, explanation = argument.partition(" ") if "{}" in _TITLES[name] else ("", "", argument)
            title = _TITLES[name].format(version)
            text, messages = self.state.inline_text(explanation, self.lineno)
            colon = nodes.Text(f"{title}: " if explanation or self.content else f"{title}.")
            return [nodes.paragraph("", "", colon, *text), *messages]
        if not argument or name in _WITHOUT_TITLE or argument.isdecimal() or not self.content:
            return self._keep_argument(name, argument)
        text, messages = self.state.inline_text(argument, self.lineno)
        return [nodes.paragraph("", "", nodes.strong("", "", *text)), *messages]
