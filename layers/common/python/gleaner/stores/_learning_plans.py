"""Plans the writes of keywords that are learned: each in the state that is known of it, or as new."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gleaner.model import utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import KeywordUse, add_answer, association
from gleaner.stores.keyword_postings import Head, PostingPlanner
from gleaner.stores.keyword_stems import claim
from gleaner.stores.schema import PruneQueue

# The places of a keyword's actions, of which the first is its update.
_ASSOCIATION, _CLAIM = 1, 2
_ACTIONS_PER_KEYWORD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedKeyword:
    """A keyword after indexing. `existed` says whether it was merged into an existing one."""

    keyword_id: str
    keyword_text: str
    existed: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How a keyword is written."""

    keyword: IndexedKeyword
    spelling: str  # as it was given
    actions: Sequence[dict[str, Any]]  # the keyword's update, its association, its claim
    becomes_findable: bool  # its words are to be written, too


class Planner:
    """Plans what keywords write for one use."""

    def __init__(self, table: Table, postings: PostingPlanner, use: KeywordUse, *, is_compact: bool) -> None:
        """`is_compact` says whether what is new has the compact form (`KeywordLayout`)."""
        self._table = table
        self._postings = postings
        self.use = use
        self.is_compact = is_compact

    def plan(self, keyword_id: str, display_text: str, head: Head | None) -> Plan:
        """How to write a keyword whose item is `head`, or that is new."""
        now = to_timestamp(utc_now())
        use = self.use
        findable = head is not None and head["status"] == "active" and use.scope in head.get("kb_ids", ())
        spelling = head["keyword_text"] if head else display_text
        linked = association(keyword_id, use, now)
        actions = [
            self._update_keyword(spelling, findable, head, linked),
            self._table.new_item(linked, return_existing=True),
            claim(self._table, keyword_id, display_text),
        ]
        indexed = IndexedKeyword(keyword_id=keyword_id, keyword_text=spelling, existed=head is not None)
        return Plan(indexed, display_text, actions, not findable)

    def chunks(self, plans: Sequence[Plan], answer_actions: int) -> list[list[Plan]]:
        """Groups that each fit into one transaction, together with the actions for the web answer."""
        chunks: list[list[Plan]] = [[]]
        size = answer_actions
        for item in plans:
            actions = len(item.actions) + len(self.additions([item]))
            if size + actions > MAX_TRANSACTION_ACTIONS:
                chunks.append([])
                size = answer_actions
            chunks[-1].append(item)
            size += actions
        return chunks

    def additions(self, chunk: Sequence[Plan]) -> list[dict[str, Any]]:
        """The actions that make the keywords of a chunk findable."""
        texts = {item.keyword.keyword_id: item.keyword.keyword_text for item in chunk if item.becomes_findable}
        return self._postings.additions(self.use.scope, texts)

    def _update_keyword(
        self, spelling: str, findable: bool, head: Head | None, linked: Mapping[str, Any]
    ) -> dict[str, Any]:
        condition, values = _plan_condition(head, findable, self.use.scope)
        callers = _new_callers(head, self.use)
        newest = add_answer(head, linked)
        keyword_id = linked["keyword_id"]
        has_entries = not findable and self._postings.overflows(self.use.scope, spelling)
        return self._table.update(
            schema.keyword_key(keyword_id),
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text),"
            " #created_at = if_not_exists(#created_at, :now), #updated_at = :now, #last_used_at = :now,"
            " #status = :active, #queue = :queue"
            + (", #has_entries = :yes" if has_entries else "")
            + newest.sets
            + newest.removes
            + " ADD #usage_count :one, #kb_ids :kbs"
            + ("" if findable else ", #listed_in :kbs")
            + (", #callers :callers" if callers else "")
            + newest.adds,
            condition=condition + newest.condition,
            values={
                ":id": keyword_id,
                ":text": spelling,
                ":now": linked["created_at"],
                ":active": "active",
                ":queue": schema.active_partition(keyword_id, 1 + (head or {}).get("usage_count", 0)),
                ":one": 1,
                ":kbs": {self.use.scope},
            }
            | ({":callers": callers} if callers else {})
            | ({":yes": True} if has_entries else {})
            | values
            | newest.values,
            return_existing=True,
        )


def _new_callers(head: Head | None, use: KeywordUse) -> set[str]:
    """Whom to add to the callers that the head names. An earlier version's keyword has none: everybody sees it."""
    mark = use.caller_mark
    if mark is None or (head is not None and "callers" not in head):
        return set()
    of_kind = [one for one in (head or {}).get("callers", ()) if schema.is_restricted_mark(one) == bool(use.groups)]
    return set() if mark in of_kind or len(of_kind) >= schema.MAX_CALLERS else {mark}


def _plan_condition(head: Head | None, findable: bool, kb_id: str) -> tuple[str, dict[str, Any]]:
    """The condition that a keyword is in the state its plan assumes, with the condition's values.

    It checks nothing else: increments are commutative, so concurrent writers of one keyword do not conflict.
    """
    if head is None:
        return "attribute_not_exists(#pk)", {}
    if findable:
        return "#status = :active AND contains(#kb_ids, :kb)", {":kb": kb_id}
    # Finishing an interrupted pruning would delete new entries together with the old ones.
    return (
        "attribute_exists(#pk) AND (#status <> :active OR NOT contains(#kb_ids, :kb))"
        " AND NOT begins_with(#queue, :unfinished)",
        {":kb": kb_id, ":unfinished": PruneQueue.UNFINISHED.value},
    )


def find_owners(chunk: Sequence[Plan], error: ConditionFailed, *, first: int) -> dict[str, Head]:
    """The items that name another keyword for the stems of a planned one, by the id of the planned one."""
    return {
        item.keyword.keyword_id: error.existing_items[position + _CLAIM]
        for position, item in _positions(chunk, first)
        if position + _CLAIM in error.existing_items
    }


def assume_head(owner: Head, use: KeywordUse) -> Head:
    """The most likely state of a keyword of which only its stems' item was read; the plan's condition checks it."""
    return {
        "keyword_text": owner["keyword_text"],
        "status": "active",
        "kb_ids": {use.kb_id},
        "usage_count": 0,
        "newest_answers": (),
    }


def actual_heads(chunk: Sequence[Plan], error: ConditionFailed, *, first: int) -> dict[str, Head | None]:
    """The heads of keywords whose state is not the one that was planned for, by id; None for one that has none."""
    return {
        item.keyword.keyword_id: error.existing_items.get(position)
        for position, item in _positions(chunk, first)
        if position in error.positions
    }


def find_written(
    chunk: Sequence[Plan], error: ConditionFailed, *, first: int, merged: Collection[str]
) -> list[IndexedKeyword]:
    """The keywords whose association already exists: an earlier attempt of this call wrote them.

    A keyword that was planned as new but has no head, because another query is just writing it, is left for the
    next plan, and so is one that is `merged` into another.
    """
    indexed = []
    for position, item in _positions(chunk, first):
        if position + _ASSOCIATION not in error.positions or item.keyword.keyword_id in merged:
            continue
        if head := error.existing_items.get(position):
            # A call that creates a keyword gives it and its association the same time.
            existed = head["created_at"] != error.existing_items[position + _ASSOCIATION]["created_at"]
            indexed.append(replace(item.keyword, keyword_text=head["keyword_text"], existed=existed))
        elif item.keyword.existed:
            indexed.append(item.keyword)
    return indexed


def _positions(chunk: Sequence[Plan], first: int) -> Iterator[tuple[int, Plan]]:
    """The keywords of a transaction, each with the position of its first action."""
    return zip(itertools.count(first, _ACTIONS_PER_KEYWORD), chunk, strict=False)  # there is no last number
