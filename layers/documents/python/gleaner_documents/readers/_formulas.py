"""Reads formulas in MathML as a line of text."""

from __future__ import annotations

import re

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

_TEX_STYLE = re.compile(r"\{\\(?:display|text)style\s*(.*)\}", re.DOTALL)
_TEX = ("application/x-tex", "TeX", "LaTeX")
# What stands between the parts of an element.
_OPERATORS = {
    "msup": "^",
    "msub": "_",
    "mfrac": "/",
    "mover": "^",
    "munder": "_",
    "mroot": " root ",
    "msubsup": "_^",
    "munderover": "_^",
}
_TWO_SCRIPTS = ("msubsup", "munderover")
# Function application, invisible times, separator and plus.
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))


def read_formula(math: Tag) -> str:
    """The TeX that the formula carries, else its alternative text, else its symbols with ^, _ and / between them."""
    annotation = math.find("annotation")
    if isinstance(annotation, Tag) and annotation.get("encoding") in _TEX:
        text = annotation.get_text()
    else:
        text = str(math.get("alttext") or "") or _write_symbols(math)
    text = text.strip()
    styled = _TEX_STYLE.fullmatch(text)
    return styled[1].strip() if styled else text


def _write_symbols(math: Tag) -> str:
    """Not recursive: pages nest deeply."""
    parts: list[str] = []
    pending = list(reversed(_arrange(math)))
    while pending:
        node = pending.pop()
        if isinstance(node, str) and not isinstance(node, NavigableString):
            parts.append(node)
        elif isinstance(node, NavigableString):
            parts.append(" ".join(node.split()))
        elif isinstance(node, Tag) and node.name not in ("annotation", "annotation-xml"):
            pending += reversed(_arrange(node))
    return "".join(parts).translate(_INVISIBLE)


def _arrange(tag: Tag) -> list[object]:
    """The children but comments, with what has to be written around them; plain strings are signs of our own."""
    children: list[object] = [
        child
        for child in tag.contents
        if not (isinstance(child, PreformattedString) or (isinstance(child, str) and not child.strip()))
    ]
    if tag.name == "msqrt":
        return ["√(", *children, ")"]
    sign = _OPERATORS.get(tag.name)
    if sign is None:
        return children
    arranged: list[object] = []
    for index, child in enumerate(children):
        is_compound = isinstance(child, Tag) and child.name == "mrow" and len(child.find_all(True, recursive=False)) > 1
        before = sign[index - 1 : index] if tag.name in _TWO_SCRIPTS else sign
        arranged += [before] * (index > 0) + (["(", child, ")"] if is_compound else [child])
    return arranged
