"""Reads the groups in the metadata of a file, and refuses what only seems to name them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gleaner.groups import Groups, InvalidGroups, check_groups

FIELD = "groups"
# Fields of other programs that nobody gives to a page but to restrict it, and such as often say something else, unless
# they hold a list: `group: navigation` is where many a generator lists the page.
_OTHERS = frozenset(("acl", "accessgroups", "allowedgroups", "readgroups", "usergroups"))
_AMBIGUOUS = frozenset(("group", "access"))
_NO_LETTERS = re.compile(r"[\W_]+")
# A field in a line, in a mapping within one, or as an item of a list, and how its value begins; or a table of TOML.
_KEY = re.compile(r"(?:^|[{,(])(?:[ \t'\"?]|-[ \t])*([\w.-]+)['\"]?[ \t]*[:=][ \t]*(?=(.?))", re.MULTILINE)
_TABLE = re.compile(rf"^[ \t]*\[+[ \t]*['\"]?{FIELD}['\"]?[ \t]*\]", re.MULTILINE | re.IGNORECASE)


def to_fields(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Fields by their names, of which the last counts if there are several. Raises InvalidGroups if groups are."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if _is_field(name) and any(map(_is_field, fields)):
            raise InvalidGroups(f"names {FIELD} more than once in its metadata")
        fields[name] = value
    return fields


def read_groups(fields: Mapping[Any, Any]) -> Groups:
    """The groups that metadata names, none without the field. Raises InvalidGroups, also for a slip in its name."""
    named = [value for name, value in fields.items() if _is_field(name)]
    if len(named) > 1:
        raise InvalidGroups(f"names {FIELD} more than once in its metadata")
    for name, value in fields.items():
        if _is_slip(str(name), value):
            raise InvalidGroups(f"has the field {str(name)!r} in its metadata; groups are named by {FIELD!r}")
    if _is_nested(fields):
        raise InvalidGroups(f"names {FIELD} within another field of its metadata; they must stand by themselves")
    return _read_value(named[0]) if named else ()


def refuse_unread(text: str) -> None:
    """Raise InvalidGroups if text names groups that stands where metadata would and cannot be read as such."""
    if _TABLE.search(text) or any(_is_field(name) or _is_slip(name, value) for name, value in _KEY.findall(text)):
        raise InvalidGroups(f"names {FIELD} in metadata that cannot be read")


def _is_field(name: object) -> bool:
    return str(name).strip().casefold() == FIELD


def _read_value(value: object) -> Groups:
    """A list, or the text of one where metadata has no lists. Raises InvalidGroups."""
    if not isinstance(value, str):
        return check_groups(value)
    try:
        return check_groups(json.loads(value))
    except (ValueError, RecursionError):
        return check_groups(value)


def _is_slip(name: str, value: object) -> bool:
    """Whether a field seems to be meant for the groups, by its name and what it holds."""
    plain = _NO_LETTERS.sub("", name.casefold())
    if plain in _AMBIGUOUS:
        return isinstance(value, list) or (isinstance(value, str) and value.lstrip().startswith("["))
    return plain in _OTHERS or (plain != FIELD and _differs_once(plain)) or (plain == FIELD and not _is_field(name))


def _differs_once(name: str) -> bool:
    """Whether one letter is missing, too many or another one, or two have changed places."""
    start = next((at for at, (one, other) in enumerate(zip(name, FIELD, strict=False)) if one != other), len(name))
    rest, expected = name[start:], FIELD[start:]
    if rest[1:] == expected[1:] or rest[1:] == expected or rest == expected[1:]:
        return True
    return rest[:2] == expected[1::-1] and rest[2:] == expected[2:]


def _is_nested(fields: Mapping[Any, Any]) -> bool:
    """Whether a field within fields is a list of names of groups, such as `params: {groups: [hr]}`."""
    pending, seen = [value for value in fields.values() if isinstance(value, Mapping)], set[int]()
    while pending:
        mapping = pending.pop()
        if id(mapping) in seen:  # of an anchor
            continue
        seen.add(id(mapping))
        for name, value in mapping.items():
            if _is_field(name) and isinstance(value, list) and value and all(isinstance(one, str) for one in value):
                return True
            if isinstance(value, Mapping):
                pending.append(value)
    return False
