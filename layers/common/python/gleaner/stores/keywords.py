"""Writes keywords with their associations, look-up entries and web answers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from gleaner import text
from gleaner.errors import AnswerForgotten, GleanerError, StoreUnavailable
from gleaner.model import WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.forgotten_pages import check_not_barred, page_keys
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import (
    KeywordUse,
    answer_update,
    association,
    entry_keys,
    is_forgotten,
    query_use,
    queue_answer,
    taught_update,
    to_answers,
)
from gleaner.stores.keyword_pruning import Head, PruneWriter, is_unfinished
from gleaner.stores.keyword_stems import claim, merge_key
from gleaner.stores.schema import PruneQueue

# The first plan assumes that all keywords are new; a failed transaction returns the existing items, from which the
# next is planned. That plan fails only if another writer adds, prunes or restores the same keyword in between.
_MAX_PLANS = 32
_ACTIONS_PER_USE = 2
# The places of a plan's actions after its first, the keyword's update.
_ASSOCIATION, _CLAIM = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedKeyword:
    """A keyword after indexing. `existed` says whether it was merged into an existing one."""

    keyword_id: str
    keyword_text: str
    existed: bool


@dataclass(frozen=True, slots=True)
class _Plan:
    keyword: IndexedKeyword
    spelling: str  # as it was given
    actions: list[dict[str, Any]]  # the keyword's update, its association, its claim, its look-up entries


class KeywordStore:
    """The keywords table."""

    def __init__(self, table: Table, *, answer_lifetime: timedelta | None = None) -> None:
        """`answer_lifetime` is how long stored web answers are served; None: without an end."""
        self._table = table
        self._answer_lifetime = answer_lifetime
        self._prune_writer = PruneWriter(table)

    def index(self, keywords: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> list[IndexedKeyword]:
        """Merge `keywords` (valid ones) into the index for `use`; each is written atomically.

        Near-duplicates (`merge_key`) are one keyword. Keywords that fit into one transaction are written in one, with
        the web answer first. That takes one round trip if all are new and two otherwise. The call is idempotent;
        repeated after a crash between two transactions, it writes what is missing. Raises AnswerForgotten,
        StoreUnavailable or DeadlineExceeded.
        """
        pending = _distinct(keywords)
        if not pending:
            return []
        heads: dict[str, Head | None] = {}
        indexed: dict[str, IndexedKeyword] = {}
        for _ in range(_MAX_PLANS):
            targets = {keyword_id: spelling for spelling, keyword_id in reversed(pending.items())}
            plans = [self._plan(key, spelling, heads.get(key), use) for key, spelling in reversed(targets.items())]
            for chunk in _chunks(plans, len(self._answer_actions((), use))):
                for keyword in self._write(chunk, heads, pending, use, deadline):
                    indexed[keyword.keyword_id] = keyword
                    pending = {text: key for text, key in pending.items() if key != keyword.keyword_id}
            if not pending:
                return list(indexed.values())
        raise StoreUnavailable("The store changed too fast to index the keywords.")

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Count that these keywords served a query: once for each query, and only while they are active.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        now = to_timestamp(utc_now())
        keys = [schema.keyword_key(keyword_id) for keyword_id in keyword_ids]
        heads = self._table.get_many(keys, deadline=deadline)
        while heads:
            actions = [action for head in heads for action in self._use_actions(head, use, now)]
            try:
                self._table.transact(actions, deadline=deadline)
            except ConditionFailed as error:
                # Drop keywords that were pruned in the meantime, or counted by an earlier attempt.
                failures = {position // _ACTIONS_PER_USE for position in error.positions}
                heads = [head for i, head in enumerate(heads) if i not in failures]
            else:
                return

    def _use_actions(self, head: Mapping[str, Any], use: KeywordUse, now: str) -> list[dict[str, Any]]:
        keyword_id = head["keyword_id"]
        count = self._table.update(
            schema.keyword_key(keyword_id),
            expression="SET #updated_at = :now, #last_used_at = :now, #queue = :queue ADD #usage_count :one",
            condition="#status = :active",  # counting must not restore a pruned keyword
            values={
                ":now": now,
                ":one": 1,
                ":active": "active",
                ":queue": schema.active_partition(keyword_id, head["usage_count"] + 1),
            },
        )
        return [count, self._table.new_item(query_use(keyword_id, use, now))]

    def get_answers(self, result_ids: Sequence[str], *, deadline: Deadline) -> list[WebAnswer]:
        """The web answers with these ids that are not forgotten or expired, in no particular order."""
        keys = [schema.answer_key(result_id) for result_id in result_ids]
        items = self._table.get_many(keys, deadline=deadline)
        return to_answers(items)

    def queue_for_index(self, result_id: str, *, deadline: Deadline) -> None:
        """Let the next pruning run write a stored answer into the vector index, unless it is gone or unreferenced."""
        queue = queue_answer(self._table, result_id, PruneQueue.UNINDEXED)
        with suppress(ConditionFailed):
            self._table.transact([queue], deadline=deadline)

    def _plan(self, keyword_id: str, display_text: str, head: Head | None, use: KeywordUse) -> _Plan:
        now = to_timestamp(utc_now())
        findable = head is not None and head["status"] == "active" and use.scope in head.get("kb_ids", ())
        spelling = head["keyword_text"] if head else display_text
        actions = [
            self._update_keyword(keyword_id, display_text, findable, head, use, now),
            self._table.new_item(association(keyword_id, use, now), return_existing=True),
            claim(self._table, keyword_id, display_text),
        ]
        if not findable:
            actions += self._put_entries(keyword_id, spelling, use.scope)
        indexed = IndexedKeyword(keyword_id=keyword_id, keyword_text=spelling, existed=head is not None)
        return _Plan(indexed, display_text, actions)

    def _update_keyword(
        self,
        keyword_id: str,
        display_text: str,
        findable: bool,
        head: Head | None,
        use: KeywordUse,
        now: str,
    ) -> dict[str, Any]:
        condition, values = _plan_condition(head, findable, use.scope)
        callers = _new_callers(head, use)
        return self._table.update(
            schema.keyword_key(keyword_id),
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text),"
            " #created_at = if_not_exists(#created_at, :now), #updated_at = :now, #last_used_at = :now,"
            " #status = :active, #queue = :queue ADD #usage_count :one, #kb_ids :kbs"
            + (", #callers :callers" if callers else ""),
            condition=condition,
            values={
                ":id": keyword_id,
                ":text": display_text,
                ":now": now,
                ":active": "active",
                ":queue": schema.active_partition(keyword_id, 1 + (head or {}).get("usage_count", 0)),
                ":one": 1,
                ":kbs": {use.scope},
            }
            | ({":callers": callers} if callers else {})
            | values,
            return_existing=True,
        )

    def _put_entries(self, keyword_id: str, display_text: str, kb_id: str) -> list[dict[str, Any]]:
        # An entry depends on the keyword only, so rewriting it changes nothing. The condition fails only if another
        # keyword has an entry under this key, which would be an id collision.
        return [
            self._table.update(
                key,
                expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text)",
                condition="attribute_not_exists(#pk) OR #keyword_id = :id",
                values={":id": keyword_id, ":text": display_text},
            )
            for key in entry_keys(keyword_id, display_text, kb_id)
        ]

    def _write(
        self,
        chunk: Sequence[_Plan],
        heads: dict[str, Head | None],
        pending: dict[str, str],
        use: KeywordUse,
        deadline: Deadline,
    ) -> list[IndexedKeyword]:
        """Write a chunk and return its keywords that are done.

        Of those planned wrongly, the heads go into `heads`, and into `pending` the ids that their stems belong to.
        """
        answers = self._answer_actions(chunk, use)
        try:
            self._table.transact([*answers, *(action for item in chunk for action in item.actions)], deadline=deadline)
        except ConditionFailed as error:
            if any(position < len(answers) for position in error.positions):
                raise _refusal(error) from error
            owners = _owners(chunk, error, first=len(answers))
            for item in chunk:
                if owner := owners.get(item.keyword.keyword_id):
                    pending[item.spelling] = owner["keyword_id"]
                    heads.setdefault(owner["keyword_id"], _assume_head(owner, use))
            actual_heads = _actual_heads(chunk, error, first=len(answers))
            for head in filter(None, actual_heads.values()):
                if is_unfinished(head):
                    self._prune_writer.finish(head, deadline=deadline)
            heads |= actual_heads
            return _written_earlier(chunk, error, first=len(answers), merged=owners)
        return [item.keyword for item in chunk]

    def _answer_actions(self, chunk: Sequence[_Plan], use: KeywordUse) -> list[dict[str, Any]]:
        keyword_ids = {item.keyword.keyword_id for item in chunk}
        taught = [] if use.caller is None else [taught_update(self._table, use, use.caller, keyword_ids)]
        if use.answer is None:
            return taught
        checks = [check_not_barred(self._table, key) for key in page_keys(c.url for c in use.answer.citations)]
        return [answer_update(self._table, use.answer, keyword_ids, lifetime=self._answer_lifetime), *checks, *taught]


def _refusal(error: ConditionFailed) -> GleanerError:
    """Why the answer of a transaction may not be stored: its own action comes first, then the checks of its pages."""
    if 0 in error.positions and not is_forgotten(error.existing_items.get(0, {})):
        return StoreUnavailable("A stored web answer belongs to another knowledge base.")
    return AnswerForgotten("An administrator made the service forget what it learned from this page.")


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


def _chunks(plans: Sequence[_Plan], answer_actions: int) -> list[list[_Plan]]:
    """Groups that each fit into one transaction, together with the actions for the web answer."""
    chunks: list[list[_Plan]] = [[]]
    size = answer_actions
    for item in plans:
        if size + len(item.actions) > MAX_TRANSACTION_ACTIONS:
            chunks.append([])
            size = answer_actions
        chunks[-1].append(item)
        size += len(item.actions)
    return chunks


def _positions(chunk: Sequence[_Plan], first: int) -> Iterator[tuple[int, _Plan]]:
    """The keywords of a transaction, each with the position of its first action."""
    sizes = (len(item.actions) for item in chunk)
    return zip(itertools.accumulate(sizes, initial=first), chunk, strict=False)  # there is one sum more than plans


def _distinct(keywords: Sequence[str]) -> dict[str, str]:
    """The ids of the keywords by text; of near-duplicates only the first."""
    spellings: dict[str, str] = {}
    for keyword in keywords:
        spellings.setdefault(merge_key(keyword), keyword)
    return {spelling: schema.keyword_id(text.fold(spelling)) for spelling in spellings.values()}


def _owners(chunk: Sequence[_Plan], error: ConditionFailed, *, first: int) -> dict[str, Head]:
    """The items that name another keyword for the stems of a planned one, by the id of the planned one."""
    return {
        item.keyword.keyword_id: error.existing_items[position + _CLAIM]
        for position, item in _positions(chunk, first)
        if position + _CLAIM in error.existing_items
    }


def _assume_head(owner: Head, use: KeywordUse) -> Head:
    """The most likely state of a keyword of which only its stems' item was read; the plan's condition checks it."""
    return {"keyword_text": owner["keyword_text"], "status": "active", "kb_ids": {use.kb_id}, "usage_count": 0}


def _actual_heads(chunk: Sequence[_Plan], error: ConditionFailed, *, first: int) -> dict[str, Head | None]:
    """The heads of keywords whose state is not the one that was planned for, by id; None for one that has none."""
    return {
        item.keyword.keyword_id: error.existing_items.get(position)
        for position, item in _positions(chunk, first)
        if position in error.positions
    }


def _written_earlier(
    chunk: Sequence[_Plan], error: ConditionFailed, *, first: int, merged: Collection[str]
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
