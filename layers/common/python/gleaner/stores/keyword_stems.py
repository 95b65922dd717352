"""Merges near-duplicate keywords: an item for each sequence of stems names the keyword that was first written so.

Ids of keywords are derived from their folded text, as they were before such items existed. So a keyword of an earlier
version keeps its id, and gets its item when it is indexed again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from gleaner import text
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
    words = text.words(keyword)
    first, _, rest = text.collapse(keyword).partition(" ")
    # Where the other words are capitalized, too, it is a title: "My Fair Lady", "The Who".
    has_determiner = bool(rest and words) and words[0] in _DETERMINERS and text.fold(first) == words[0]
    if has_determiner and (first.islower() or rest.islower()):
        words = words[1:]
    folded = text.fold(keyword)
    marks = _LEADING_MARK.findall(folded) + [c for c in folded if c in _SYMBOLS or unicodedata.category(c)[0] == "S"]
    return " ".join([*map(text.stem, words), *marks])


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


def release(table: Table, keyword_id: str, spelling: str) -> dict[str, Any]:
    """The action that deletes a claim. It fails if the stems belong to another keyword. The next use claims them."""
    return table.delete(
        schema.stems_key(merge_key(spelling)),
        condition="attribute_not_exists(#pk) OR #keyword_id = :id",
        values={":id": keyword_id},
    )
