"""Plans the writes of keywords that are learned: each in the state that is known of it, or as new."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gleaner.model import utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import (
    HeadChange,
    KeywordUse,
    add_answer,
    add_first_use,
    association,
    first_association,
)
from gleaner.stores.keyword_postings import Action, Head, PostingPlanner
from gleaner.stores.keyword_stems import claim, is_claim
from gleaner.stores.schema import PruneQueue

Part = Literal["head", "association", "claim"]  # of what is written of a keyword
_UNKNOWN_CALLERS: frozenset[str] = frozenset()  # of a head of which only the claim was read


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
    head: Head | None  # in the state that is assumed; None: it is new
    association_id: str
    actions: Mapping[Part, Action]  # in their order
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
        is_of_stems = schema.is_of_stems(keyword_id)
        actions: dict[Part, Action] = {"head": self._update_keyword(spelling, findable, head, linked)}
        if head is not None or not is_of_stems:  # else the head holds it
            actions["association"] = self._table.new_item(linked, return_existing=True)
        if not is_of_stems:  # else the head is in the place of the claim
            actions["claim"] = claim(self._table, keyword_id, display_text)
        indexed = IndexedKeyword(keyword_id=keyword_id, keyword_text=spelling, existed=head is not None)
        return Plan(indexed, display_text, head, linked["association_id"], actions, not findable)

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
        changes = [_add_caller(head, self.use), add_answer(head, linked), add_first_use(head, linked)]
        keyword_id = linked["keyword_id"]
        has_entries = not findable and self._postings.overflows(self.use.scope, spelling)
        return self._table.update(
            schema.keyword_key(keyword_id),
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text),"
            " #created_at = if_not_exists(#created_at, :now), #updated_at = :now, #last_used_at = :now,"
            " #status = :active, #queue = :queue"
            + (", #has_entries = :yes" if has_entries else "")
            + "".join(change.sets for change in changes)
            + "".join(change.removes for change in changes)
            + " ADD #usage_count :one, #kb_ids :kbs"
            + ("" if findable else ", #listed_in :kbs")
            + "".join(change.adds for change in changes),
            condition=condition + "".join(change.condition for change in changes),
            values={
                ":id": keyword_id,
                ":text": spelling,
                ":now": linked["created_at"],
                ":active": "active",
                ":queue": schema.active_partition(keyword_id, 1 + (head or {}).get("usage_count", 0)),
                ":one": 1,
                ":kbs": {self.use.scope},
            }
            | ({":yes": True} if has_entries else {})
            | values
            | dict(item for change in changes for item in change.values.items()),
            return_existing=True,
        )


def _add_caller(head: Head | None, use: KeywordUse) -> HeadChange:
    """How to name the caller in the head. An earlier version's keyword names none: everybody sees it."""
    mark = use.caller_mark
    if mark is None or (head is not None and "callers" not in head):
        return HeadChange()
    adds, values = ", #callers :callers", {":callers": {mark}}
    if head is not None and head["callers"] is _UNKNOWN_CALLERS:
        # A keyword that everybody sees must stay so, and a head does not name any number of callers.
        condition = " AND attribute_exists(#callers) AND size(#callers) < :max_callers"
        return HeadChange(adds=adds, condition=condition, values={**values, ":max_callers": schema.MAX_CALLERS})
    of_kind = [one for one in (head or {}).get("callers", ()) if schema.is_restricted_mark(one) == bool(use.groups)]
    if mark in of_kind or len(of_kind) >= schema.MAX_CALLERS:
        return HeadChange()
    return HeadChange(adds=adds, values=values)


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


def assume_head(owner: Head, use: KeywordUse) -> Head:
    """The head of the keyword that some stems belong to, or its most likely state if only its claim was read.

    The plan's condition checks it.
    """
    if not is_claim(owner):
        return owner
    return {
        "keyword_text": owner["keyword_text"],
        "status": "active",
        "kb_ids": {use.kb_id},
        "usage_count": 0,
        "callers": _UNKNOWN_CALLERS,
        "newest_answers": (),
    }


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a refused transaction says of a keyword that it was to write."""

    plan: Plan
    existing: Mapping[Part, Head | None]  # what those of its actions that were refused found

    @property
    def owner(self) -> Head | None:
        """What names another keyword for its stems: a claim, or the head of that keyword."""
        head = self.existing.get("head")
        return head if head is not None and is_claim(head) else self.existing.get("claim")

    @property
    def is_misplanned(self) -> bool:
        """Whether the keyword is in another state than was planned for."""
        return "head" in self.existing

    @property
    def head(self) -> Head | None:
        """The head of a misplanned keyword; None if it has none."""
        head = self.existing.get("head")
        return None if head is None or is_claim(head) else head

    @property
    def written(self) -> IndexedKeyword | None:
        """The keyword if its association already exists: an earlier attempt of this call wrote it.

        A keyword that was planned as new but has no head, because another query is just writing it, is left for the
        next plan, and so is one that is merged into another.
        """
        linked, head = self._association, self.head or self.plan.head
        if linked is None or head is None or self.owner:
            return None
        # A call that creates a keyword gives it and its association the same time. Of an assumed head it is not known.
        existed = head.get("created_at") != linked["created_at"]
        return replace(self.plan.keyword, keyword_text=head["keyword_text"], existed=existed)

    @property
    def _association(self) -> Head | None:
        """The association of the keyword with the query and the answer, if it exists."""
        held = first_association(self.head) if self.head else None
        if held is not None and held["association_id"] == self.plan.association_id:
            return held
        return self.existing.get("association")


def read_refusals(chunk: Sequence[Plan], error: ConditionFailed, *, first: int) -> list[Refusal]:
    """What a transaction says of its keywords, whose actions began at the position `first`."""
    positions = itertools.count(first)
    refusals = []
    for plan in chunk:
        placed = {part: next(positions) for part in plan.actions}
        existing = {part: error.existing_items.get(at) for part, at in placed.items() if at in error.positions}
        refusals.append(Refusal(plan, existing))
    return refusals
