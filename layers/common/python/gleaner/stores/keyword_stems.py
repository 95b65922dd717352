"""Merges near-duplicate keywords: one item for each sequence of stems says which keyword it is.

The head of a keyword is in this place, under a key that is derived from its stems. Keywords of the former form keep
their ids, which are derived from their folded text: there, the item is a claim, which names the keyword that was first
written so. Both are written only where no other is, so a sequence of stems has one keyword. Keywords from before there
were claims get one when they are indexed again or restored, or by pruning runs (`keyword_moving`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from gleaner import text
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table

# Words at the start that say whose or which one, and are no part of a name. Left out are those that begin names in
# other languages, such as "la" in "La Palma" and "notre" in "Notre Dame".
_DETERMINERS = frozenset(
    "a an the my your our their mein meine meinen meinem meiner dein deine deinen unser unsere unseren mon mes".split()
)
# Marks that distinguish names whose words are equal: ".NET" is not "net", and "-40 °C" not "40 °C".
_LEADING_MARK = re.compile(r"(?<!\w)[.\-−](?=\w)")
_SYMBOLS = frozenset("/&@%*!?#")


def merge_key(keyword: str) -> str:
    """The stems of a keyword's words in their order, without a determiner at the start: equal for near-duplicates.

    Function words elsewhere stay: "vitamin A" is not "vitamin", and "without sugar" is not "sugar".
    """
    first, _, rest = text.collapse(keyword).partition(" ")
    # Where the other words are capitalized, too, it is a title: "My Fair Lady", "The Who".
    has_determiner = _may_have_determiner(keyword) and (first.islower() or rest.islower())
    return _merge_key(keyword, without_first=has_determiner)


def _merge_key(keyword: str, *, without_first: bool) -> str:
    words = text.words(keyword)[int(without_first) :]
    folded = text.fold(keyword)
    marks = _LEADING_MARK.findall(folded) + [c for c in folded if c in _SYMBOLS or unicodedata.category(c)[0] == "S"]
    return " ".join([*map(text.stem, words), *marks])


def new_keyword_id(keyword: str, *, is_compact: bool) -> str:
    """The id of a keyword if it is new. Spellings that differ in capitals only have one id.

    It is of the stems in the compact form, but not where capitals decide what they are: "my fair lady" may be a title.
    """
    if is_compact and not _may_have_determiner(keyword):
        return schema.keyword_id(merge_key(keyword))
    return schema.former_keyword_id(text.fold(keyword))


def _may_have_determiner(keyword: str) -> bool:
    words = text.words(keyword)
    first, _, rest = text.collapse(keyword).partition(" ")
    return bool(rest and words) and words[0] in _DETERMINERS and text.fold(first) == words[0]


def is_claim(item: Mapping[str, Any]) -> bool:
    """Whether what is in the place of a head only names the keyword of its stems."""
    return "status" not in item


def read_head(table: Table, keyword_id: str, *, deadline: Deadline) -> dict[str, Any] | None:
    """The head of a keyword, or None if there is none."""
    item = table.get(schema.keyword_key(keyword_id), deadline=deadline)
    return None if item is None or is_claim(item) else item


def claim(table: Table, keyword_id: str, spelling: str) -> dict[str, Any]:
    """The action that makes a keyword the one of its stems. It fails if another keyword is, and returns that item."""
    return table.update(
        schema.stems_key(merge_key(spelling)),
        expression="SET #keyword_id = if_not_exists(#keyword_id, :id),"
        " #keyword_text = if_not_exists(#keyword_text, :text)",
        condition="attribute_not_exists(#pk) OR #keyword_id = :id",
        values={":id": keyword_id, ":text": spelling},
        return_existing=True,
    )


def missing_claim(table: Table, head: Mapping[str, Any], *, deadline: Deadline) -> list[dict[str, Any]]:
    """The action that makes a keyword from before there were claims the one of its stems, unless there is one.

    It fails if another keyword has become that since.
    """
    if schema.is_of_stems(head["keyword_id"]) or _read_claim(table, head, deadline) is not None:
        return []
    return [claim(table, head["keyword_id"], head["keyword_text"])]


def release(table: Table, head: Mapping[str, Any], *, deadline: Deadline) -> list[dict[str, Any]]:
    """The actions that delete a keyword's claims together with its head, if the head is not the claim itself.

    They fail if another keyword has got the stems since. What another has already is left to it.
    """
    keyword_id, spelling = head["keyword_id"], head["keyword_text"]
    if schema.is_of_stems(keyword_id):
        return []
    # Spellings in other capitals may have claimed other stems for it.
    options = (False, True) if _may_have_determiner(spelling) else (False,)
    keys = [schema.stems_key(_merge_key(spelling, without_first=option)) for option in options]
    others = {
        claimed["pk"]
        for claimed in table.get_many(keys, deadline=deadline, consistent=True)
        if claimed["keyword_id"] != keyword_id
    }
    return [
        table.delete(key, condition="attribute_not_exists(#pk) OR #keyword_id = :id", values={":id": keyword_id})
        for key in keys
        if key["pk"] not in others
    ]


def _read_claim(table: Table, head: Mapping[str, Any], deadline: Deadline) -> dict[str, Any] | None:
    return table.get(schema.stems_key(merge_key(head["keyword_text"])), deadline=deadline)
