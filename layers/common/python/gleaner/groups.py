"""Groups of callers that text is for: what their names may be, and who may read what."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from gleaner.errors import InvalidInput

# Text is for the members of any of its groups; without groups it is for all callers of its knowledge base. Names are
# compared as they are, with upper and lower case, as a Cognito user pool compares them.
Groups = tuple[str, ...]

ACL = "acl"  # the field of stored records and items that holds their groups, in a list; it is left out without any
NOBODY: Groups = ("",)  # the groups of text that nobody may read: no group has an empty name
MAX_GROUP_CHARS = 128
# Every chunk of a document carries its groups, beside its text, in the 40 KB that a record may hold.
MAX_GROUPS = 32
MAX_GROUPS_BYTES = 8_192
# Letters, marks, symbols, numbers and punctuation, but no spaces, as in a Cognito user pool: the pattern of `GroupName`
# in docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateGroup.html.
_NAME_CATEGORIES = frozenset("LMSNP")
_MAX_SHOWN = 40  # characters of an invalid name in a message
_FORM = 'a list of names, such as ["hr", "board"]'


class InvalidGroups(InvalidInput):
    """Groups that are not given as they must be; the message says what is wrong, as the end of a sentence."""


def may_read(groups: Collection[str], own: Collection[str]) -> bool:
    """Whether a member of the groups `own` may read text that is for `groups`."""
    return not groups or any(group in groups for group in own if group)


def common_groups(restrictions: Iterable[Collection[str]]) -> Groups:
    """Whom text is for that rests on texts with these groups: those who may read all of it by one of their groups.

    Nobody is sure to if no group is common to all. Texts without groups restrict nobody.
    """
    sets = [frozenset(groups) for groups in restrictions if groups]
    if not sets:
        return ()
    return tuple(sorted(frozenset.intersection(*sets))) or NOBODY


def check_groups(value: object) -> Groups:
    """The groups that somebody names for a document: a list of names, each once and in order.

    Raises InvalidGroups. An empty list is one of the mistakes: it may mean everybody or nobody.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InvalidGroups(f"names its groups in a way that cannot be read; give {_FORM}")
    if not value:
        raise InvalidGroups("has an empty list of groups; leave it out where all callers may read the document")
    for name in value:
        _check_name(name)
    groups = tuple(sorted(set(value)))
    if len(groups) > MAX_GROUPS or len(json.dumps(groups, ensure_ascii=False).encode()) > MAX_GROUPS_BYTES:
        raise InvalidGroups(f"names more than {MAX_GROUPS} groups, or names of more than {MAX_GROUPS_BYTES:,} bytes")
    return groups


def is_group_name(name: str) -> bool:
    """Whether a group may have this name."""
    return 0 < len(name) <= MAX_GROUP_CHARS and all(unicodedata.category(char)[0] in _NAME_CATEGORIES for char in name)


def read_stored_groups(fields: Mapping[str, Any]) -> Groups:
    """The groups that a stored item or record carries. What cannot be read is nobody's."""
    if ACL not in fields:
        return ()
    value = fields[ACL]
    is_list = isinstance(value, list) and bool(value)
    return tuple(value) if is_list and all(isinstance(name, str) and name for name in value) else NOBODY


def write_header(groups: Collection[str]) -> str:
    """Groups as the metadata of an object, which takes ASCII only: a JSON list, percent-encoded where needed."""
    return quote(json.dumps(sorted(groups), ensure_ascii=False), safe='[]", ')


def read_header(value: str) -> Groups:
    """The groups in what `write_header` wrote. Raises InvalidGroups."""
    try:
        named = json.loads(unquote(value, errors="strict"))
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or JSON that is nested too deeply
        named = None
    return check_groups(named)


def _check_name(name: str) -> None:
    if not is_group_name(name):
        shown = "".join(char if char.isprintable() else "�" for char in name[:_MAX_SHOWN])
        raise InvalidGroups(
            f"names the group {shown!r}; a name has 1 to {MAX_GROUP_CHARS} characters, none of them a space or a "
            "control character"
        )
