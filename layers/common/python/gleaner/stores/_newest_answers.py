"""The newest stored answers of a keyword, named in its head while they are few, so that they are read together with it.

A head names either the newest or none; then its associations are queried. It does so from the keyword's creation until
it would have to name too many, or until one of its associations goes: pruned, forgotten or deleted. Then it names none
any more, because it does not know the next older ones. Heads of earlier versions name none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gleaner.stores.schema import KEY_SEPARATOR

ASSOCIATIONS_PER_KEYWORD = 10  # the newest, of one knowledge base: what a look-up follows
_MAX_NAMED = 14  # so that not each use of a keyword with ten answers must replace the others

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What an update of a head is to do with the answers it names: clauses, the condition, and their values."""

    sets: str = ""
    adds: str = ""
    removes: str = ""
    condition: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def name_of(association: Item) -> str | None:
    """The name of the answer that an association leads to; None if it leads to none. Names sort by age."""
    if association.get("perplexity_result_id") is None:
        return None
    parts = (association[name] for name in ("query_id", "perplexity_result_id"))
    return KEY_SEPARATOR.join([*parts, association.get("caller") or "", association["kb_id"]])


def add_answer(head: Item | None, association: Item) -> Change:
    """How to name a further answer in a head, or in that of a keyword that is new."""
    name = name_of(association)
    if name is None:
        return Change()
    adds, values = ", #newest_answers :answers", {":answers": {name}}
    if head is None:
        return Change(adds=adds, values=values)
    if "newest_answers" not in head:
        return Change(condition=" AND attribute_not_exists(#newest_answers)")
    names = {*head["newest_answers"], name}
    if len(names) <= _MAX_NAMED:
        # Other writers add names, too. Who finds too many plans anew, from the keyword that the refusal returns.
        condition = " AND attribute_exists(#newest_answers) AND size(#newest_answers) < :max_named"
        return Change(adds=adds, condition=condition, values={**values, ":max_named": _MAX_NAMED})
    kept = _keep_newest(names)
    if kept is None:
        return Change(removes=" REMOVE #newest_answers", condition=" AND attribute_exists(#newest_answers)")
    return Change(
        sets=", #newest_answers = :answers",
        condition=" AND #newest_answers = :answers_read",  # another writer may have named one
        values={":answers": kept, ":answers_read": set(head["newest_answers"])},
    )


def _keep_newest(names: Iterable[str]) -> set[str] | None:
    """The names of the newest answers of each knowledge base; None if a head does not name so many."""
    counts: Counter[str] = Counter()
    kept: set[str] = set()
    for name in sorted(names, reverse=True):
        scope = _split(name)[-1]
        counts[scope] += 1
        if counts[scope] <= ASSOCIATIONS_PER_KEYWORD:
            kept.add(name)
    return kept if len(kept) < _MAX_NAMED else None


def read_newest(head: Item, scope: str) -> list[dict[str, Any]] | None:
    """What a look-up needs of the associations with the newest answers, newest first; None if the head names none."""
    if "newest_answers" not in head:
        return None
    split = [_split(name) for name in sorted(head["newest_answers"], reverse=True)]
    return [
        {"perplexity_result_id": result_id, "status": "active"} | ({"caller": caller} if caller else {})
        for _, result_id, caller, of_scope in split
        if of_scope == scope
    ][:ASSOCIATIONS_PER_KEYWORD]


def _split(name: str) -> list[str]:
    return name.split(KEY_SEPARATOR, 3)
