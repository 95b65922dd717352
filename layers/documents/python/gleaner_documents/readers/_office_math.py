"""Reads formulas of Office files (OMML) as a line of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MAX_DEPTH = 50
_ATOM = re.compile(r"[\w.,]*|√\(.*\)|\([^()]*\)")
# The signs that ECMA-376 part 1, 22.1.2, gives where a file states none.
_INTEGRAL, _HAT, _OVERLINE = "∫", "\u0302", "\u0305"


def write_formulas(element: Any) -> str:
    """All formulas in the element, one after the other: "x=√(b^2-4ac)/(2a)"."""
    formulas = [element] if element.tag == f"{M}oMath" else element.iter(f"{M}oMath")
    return "; ".join(text for formula in formulas if (text := _write_all(formula, 0).strip()))


def _write_all(elements: Iterable[Any], depth: int) -> str:
    return "".join(_write(element, depth) for element in elements)


def _write(element: Any, depth: int) -> str:
    name = str(element.tag).removeprefix(M)
    if depth > _MAX_DEPTH or name == "r":
        return "".join(text.text or "" for text in element.iter(f"{M}t"))
    if name.endswith("Pr"):
        return ""
    write = _WRITERS.get(name)
    return write(element, depth + 1) if write else _write_all(element, depth + 1)


def _parts(element: Any, name: str, depth: int) -> Iterator[str]:
    return (_write_all(part, depth) for part in element.findall(f"{M}{name}"))


def _part(element: Any, name: str, depth: int) -> str:
    return next(_parts(element, name, depth), "").strip()


def _group(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _property(element: Any, name: str, default: str) -> str:
    found = element.find(f"{M}{element.tag.removeprefix(M)}Pr/{M}{name}")
    return default if found is None else str(found.get(f"{M}val", ""))


def _scripts(element: Any, depth: int) -> str:
    """What stands below and above, each with its sign."""
    below, above = _part(element, "sub", depth), _part(element, "sup", depth)
    return (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")


def _fraction(element: Any, depth: int) -> str:
    return f"{_group(_part(element, 'num', depth))}/{_group(_part(element, 'den', depth))}"


def _script(element: Any, depth: int) -> str:
    return _group(_part(element, "e", depth)) + _scripts(element, depth)


def _radical(element: Any, depth: int) -> str:
    degree = _part(element, "deg", depth)
    return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e', depth)})"


def _large_operator(element: Any, depth: int) -> str:
    sign = _property(element, "chr", _INTEGRAL)
    return f"{sign}{_scripts(element, depth)} {_part(element, 'e', depth)}"


def _delimiters(element: Any, depth: int) -> str:
    inside = _property(element, "sepChr", "|").join(_parts(element, "e", depth))
    return f"{_property(element, 'begChr', '(')}{inside}{_property(element, 'endChr', ')')}"


def _function(element: Any, depth: int) -> str:
    name, argument = _part(element, "fName", depth), _part(element, "e", depth)
    return f"{name}{argument if argument.startswith('(') else f' {argument}'}"


def _limit(sign: str) -> Callable[[Any, int], str]:
    return lambda element, depth: f"{_part(element, 'e', depth)}{sign}{_group(_part(element, 'lim', depth))}"


def _matrix(element: Any, depth: int) -> str:
    return f"[{'; '.join(' '.join(_parts(row, 'e', depth)) for row in element.findall(f'{M}mr'))}]"


def _lines(element: Any, depth: int) -> str:
    return "; ".join(_parts(element, "e", depth))


_WRITERS: dict[str, Callable[[Any, int], str]] = {
    "f": _fraction,
    "sSub": _script,
    "sSup": _script,
    "sSubSup": _script,
    "rad": _radical,
    "nary": _large_operator,
    "d": _delimiters,
    "func": _function,
    "limLow": _limit("_"),
    "limUpp": _limit("^"),
    "m": _matrix,
    "eqArr": _lines,
    "acc": lambda element, depth: _part(element, "e", depth) + _property(element, "chr", _HAT),
    "bar": lambda element, depth: _part(element, "e", depth) + _OVERLINE,
}
