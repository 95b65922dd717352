"""Keywords, their associations and look-up entries, and the web answers stored under them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gleaner import text
from gleaner.errors import StoreUnavailable
from gleaner.model import WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import (
    KeywordUse,
    answer_update,
    association,
    entry_keys,
    query_use,
    to_answer,
)
from gleaner.stores.keyword_pruning import Head, PruneWriter, is_unfinished
from gleaner.stores.schema import PruneQueue

# Keywords are taken for new until a transaction tells what it found instead; the next is planned from that. Another
# writer can make that plan stale only by adding, pruning or restoring the same keyword in between.
_PLANS = 32
_ACTIONS_PER_USE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedKeyword:
    """A keyword as it stands after indexing; `existed` tells that it was merged into an earlier one."""

    keyword_id: str
    keyword_text: str
    existed: bool


@dataclass(frozen=True, slots=True)
class _Planned:
    keyword: IndexedKeyword
    actions: list[dict[str, Any]]  # the keyword's update first, then its association, then look-up entries


class KeywordStore:
    """The keywords table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._pruning = PruneWriter(table)

    def index(self, keywords: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> list[IndexedKeyword]:
        """Merge `keywords` (valid ones, of different identity) into the index for `use`, each whole or not at all.

        What fits into one transaction is written in one, with the web answer first: that is one round trip when
        all are new, two when some are not. A repeated call, also one that follows a crash between two
        transactions, changes only what the first left undone. Raises StoreUnavailable or DeadlineExceeded.
        """
        waiting = {schema.keyword_id(text.fold(keyword)): keyword for keyword in keywords}
        heads: dict[str, Head] = {}
        done: dict[str, IndexedKeyword] = {}
        for _ in range(_PLANS):
            planned = [self._plan(key, shown, heads.get(key), use) for key, shown in waiting.items()]
            for chunk in _chunks(planned):
                for item in self._write(chunk, heads, use, deadline):
                    done[item.keyword_id] = item
                    del waiting[item.keyword_id]
            if not waiting:
                return list(done.values())
        raise StoreUnavailable("The store changed too fast to index the keywords.")

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Count that a query was served by these keywords: once for each query, and only while they are active.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        now = to_timestamp(utc_now())
        keys = [schema.keyword_key(keyword_id) for keyword_id in keyword_ids]
        waiting = self._table.get_many(keys, deadline=deadline)
        while waiting:
            actions = [action for head in waiting for action in self._use_actions(head, use, now)]
            try:
                self._table.transact(actions, deadline=deadline)
            except ConditionFailed as error:  # those were pruned meanwhile, or counted by an earlier try
                failed = {position // _ACTIONS_PER_USE for position in error.positions}
                waiting = [head for place, head in enumerate(waiting) if place not in failed]
            else:
                return

    def _use_actions(self, head: Mapping[str, Any], use: KeywordUse, now: str) -> list[dict[str, Any]]:
        keyword = head["keyword_id"]
        counted = self._table.update(
            schema.keyword_key(keyword),
            expression="SET #updated_at = :now, #last_used_at = :now, #queue = :queue ADD #usage_count :one",
            condition="#status = :active",  # counting must not bring a pruned keyword back
            values={
                ":now": now,
                ":one": 1,
                ":active": "active",
                ":queue": schema.active_partition(keyword, head["usage_count"] + 1),
            },
        )
        return [counted, self._table.new_item(query_use(keyword, use, now))]

    def get_answers(self, result_ids: Sequence[str], *, deadline: Deadline) -> list[WebAnswer]:
        """The stored web answers among `result_ids`, in no order."""
        keys = [schema.answer_key(result_id) for result_id in result_ids]
        return [to_answer(item) for item in self._table.get_many(keys, deadline=deadline)]

    def _plan(self, keyword: str, shown: str, stored: Head | None, use: KeywordUse) -> _Planned:
        now = to_timestamp(utc_now())
        findable = stored is not None and stored["status"] == "active" and use.kb_id in stored.get("kb_ids", ())
        actions = [self._keyword_update(keyword, shown, findable, stored, use, now)]
        actions.append(self._table.new_item(association(keyword, use, now), return_existing=True))
        if not findable:
            actions += self._entries(keyword, shown, use.kb_id)
        spelling = stored["keyword_text"] if stored else shown
        indexed = IndexedKeyword(keyword_id=keyword, keyword_text=spelling, existed=stored is not None)
        return _Planned(indexed, actions)

    def _keyword_update(
        self,
        keyword: str,
        shown: str,
        findable: bool,
        stored: Head | None,
        use: KeywordUse,
        now: str,
    ) -> dict[str, Any]:
        condition, values = _as_planned(stored, findable, use.kb_id)
        return self._table.update(
            schema.keyword_key(keyword),
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text),"
            " #created_at = if_not_exists(#created_at, :now), #updated_at = :now, #last_used_at = :now,"
            " #status = :active, #queue = :queue ADD #usage_count :one, #kb_ids :kbs",
            condition=condition,
            values={
                ":id": keyword,
                ":text": shown,
                ":now": now,
                ":active": "active",
                ":queue": schema.active_partition(keyword, 1 + (stored or {}).get("usage_count", 0)),
                ":one": 1,
                ":kbs": {use.kb_id},
            }
            | values,
            return_existing=True,
        )

    def _entries(self, keyword: str, shown: str, kb_id: str) -> list[dict[str, Any]]:
        # Entries are derived from the keyword alone, so writing one again writes the same; the condition
        # refuses only an entry of another keyword under this key, which would be a collision of ids.
        return [
            self._table.update(
                key,
                expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text)",
                condition="attribute_not_exists(#pk) OR #keyword_id = :id",
                values={":id": keyword, ":text": shown},
            )
            for key in entry_keys(keyword, shown, kb_id)
        ]

    def _write(
        self, chunk: Sequence[_Planned], heads: dict[str, Head], use: KeywordUse, deadline: Deadline
    ) -> list[IndexedKeyword]:
        """The keywords of `chunk` that are done; of those whose plan was wrong, what was found goes into `heads`."""
        answers = self._answer_actions(chunk, use)
        try:
            self._table.transact([*answers, *(action for item in chunk for action in item.actions)], deadline=deadline)
        except ConditionFailed as error:
            if any(position < len(answers) for position in error.positions):
                raise StoreUnavailable("A stored web answer belongs to another knowledge base.") from error
            found = _found(chunk, error, first=len(answers))
            for head in found.values():
                if is_unfinished(head):
                    self._pruning.finish(head, deadline=deadline)
            heads |= found
            return _counted_before(chunk, error, first=len(answers))
        return [item.keyword for item in chunk]

    def _answer_actions(self, chunk: Sequence[_Planned], use: KeywordUse) -> list[dict[str, Any]]:
        if use.answer is None:
            return []
        return [answer_update(self._table, use.answer, {item.keyword.keyword_id for item in chunk})]


def _as_planned(stored: Head | None, findable: bool, kb_id: str) -> tuple[str, dict[str, Any]]:
    """The condition that a keyword is in the state that the plan rests on, and its values.

    It names no more: counting up is commutative, so writers of one keyword need not exclude each other.
    """
    if stored is None:
        return "attribute_not_exists(#pk)", {}
    if findable:
        return "#status = :active AND contains(#kb_ids, :kb)", {":kb": kb_id}
    # While a pruning is unfinished, new entries could be taken for old ones.
    return (
        "attribute_exists(#pk) AND (#status <> :active OR NOT contains(#kb_ids, :kb))"
        " AND NOT begins_with(#queue, :unfinished)",
        {":kb": kb_id, ":unfinished": PruneQueue.UNFINISHED.value},
    )


def _chunks(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """Groups that fit into one transaction, beside one action for the web answer."""
    chunks: list[list[_Planned]] = [[]]
    size = 1
    for item in planned:
        if size + len(item.actions) > MAX_TRANSACTION_ACTIONS:
            chunks.append([])
            size = 1
        chunks[-1].append(item)
        size += len(item.actions)
    return chunks


def _places(chunk: Sequence[_Planned], first: int) -> Iterator[tuple[int, _Planned]]:
    """The keywords of a transaction with the position of their first action."""
    sizes = (len(item.actions) for item in chunk)
    return zip(itertools.accumulate(sizes, initial=first), chunk, strict=False)  # the last sum is the end


def _found(chunk: Sequence[_Planned], error: ConditionFailed, *, first: int) -> dict[str, Head]:
    """The keywords that are not as they were planned for, as they are, by id."""
    return {
        item.keyword.keyword_id: error.existing_items[position]
        for position, item in _places(chunk, first)
        if position in error.existing_items
    }


def _counted_before(chunk: Sequence[_Planned], error: ConditionFailed, *, first: int) -> list[IndexedKeyword]:
    """The keywords whose association was there already: an earlier try of this very call wrote them.

    A keyword that was taken for new, and of which nothing was found because another query writes it at this moment,
    is left for the next plan.
    """
    done = []
    for position, item in _places(chunk, first):
        if position + 1 not in error.positions:
            continue
        if head := error.existing_items.get(position):
            # What creates a keyword writes it and its association with one time.
            existed = head["created_at"] != error.existing_items[position + 1]["created_at"]
            done.append(replace(item.keyword, keyword_text=head["keyword_text"], existed=existed))
        elif item.keyword.existed:
            done.append(item.keyword)
    return done
