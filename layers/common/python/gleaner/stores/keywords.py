"""Keywords, their associations and look-up entries, and the web answers stored under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner import text
from gleaner.deadline import Deadline
from gleaner.errors import StoreUnavailable
from gleaner.model import WebAnswer, utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import TRANSACTION_LIMIT, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import (
    KeywordUse,
    answer_update,
    association,
    entry_keys,
    query_use,
    to_answer,
)
from gleaner.stores.keyword_pruning import KeywordPruning, is_unfinished

# A transaction is planned from what was read, and its conditions name that. Another writer can make the
# plan stale only by adding, pruning or restoring the same keyword in between.
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
        self._pruning = KeywordPruning(table)

    def index(self, keywords: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> list[IndexedKeyword]:
        """Merge `keywords` (valid ones, of different identity) into the index for `use`, each whole or not at all.

        What fits into one transaction is written in one, with the web answer first. A repeated call, also
        one that follows a crash between two transactions, changes only what the first left undone.
        Raises StoreUnavailable or DeadlineExceeded.
        """
        waiting = {schema.keyword_id(text.fold(keyword)): keyword for keyword in keywords}
        done: dict[str, IndexedKeyword] = {}
        for _ in range(_PLANS):
            planned = self._plan(waiting, use, deadline)
            for chunk in _chunks(planned):
                for item in self._write(chunk, use, deadline):
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

    def _plan(self, keywords: Mapping[str, str], use: KeywordUse, deadline: Deadline) -> list[_Planned]:
        keys = [schema.keyword_key(keyword_id) for keyword_id in keywords]
        found = {item["keyword_id"]: item for item in self._table.get_many(keys, deadline=deadline, consistent=True)}
        for head in found.values():
            if is_unfinished(head):  # else its new entries could be taken for old ones
                self._pruning.finish(head, deadline=deadline)
        return [self._plan_one(key, shown, found.get(key), use) for key, shown in keywords.items()]

    def _plan_one(self, keyword: str, shown: str, stored: dict[str, Any] | None, use: KeywordUse) -> _Planned:
        now = to_timestamp(utc_now())
        findable = stored is not None and stored["status"] == "active" and use.kb_id in stored.get("kb_ids", ())
        actions = [self._keyword_update(keyword, shown, findable, stored, use, now)]
        actions.append(self._table.new_item(association(keyword, use, now)))
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
        stored: dict[str, Any] | None,
        use: KeywordUse,
        now: str,
    ) -> dict[str, Any]:
        # The condition names the state that the plan rests on, and no more: counting up is commutative, so
        # writers of one keyword need not exclude each other.
        if findable:
            condition = "#status = :active AND contains(#kb_ids, :kb)"
        elif stored is None:
            condition = "attribute_not_exists(#pk)"
        else:
            condition = "attribute_exists(#pk) AND (#status <> :active OR NOT contains(#kb_ids, :kb))"
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
            | ({} if stored is None else {":kb": use.kb_id}),
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

    def _write(self, chunk: Sequence[_Planned], use: KeywordUse, deadline: Deadline) -> list[IndexedKeyword]:
        """The keywords of `chunk` that are done; those whose plan was stale are left for the next plan."""
        actions = self._answer_actions(chunk, use) + [action for item in chunk for action in item.actions]
        try:
            self._table.transact(actions, deadline=deadline)
        except ConditionFailed as error:
            return _already_counted(chunk, error.positions, first=len(actions) - sum(len(i.actions) for i in chunk))
        return [item.keyword for item in chunk]

    def _answer_actions(self, chunk: Sequence[_Planned], use: KeywordUse) -> list[dict[str, Any]]:
        if use.answer is None:
            return []
        return [answer_update(self._table, use.answer, {item.keyword.keyword_id for item in chunk})]


def _chunks(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """Groups that fit into one transaction, beside one action for the web answer."""
    chunks: list[list[_Planned]] = [[]]
    size = 1
    for item in planned:
        if size + len(item.actions) > TRANSACTION_LIMIT:
            chunks.append([])
            size = 1
        chunks[-1].append(item)
        size += len(item.actions)
    return chunks


def _already_counted(chunk: Sequence[_Planned], failed: tuple[int, ...], *, first: int) -> list[IndexedKeyword]:
    """The keywords whose association was there already: an earlier try of this very call wrote them."""
    if any(position < first for position in failed):
        raise StoreUnavailable("A stored web answer belongs to another knowledge base.")
    done = []
    position = first
    for item in chunk:
        if position + 1 in failed:
            done.append(item.keyword)
        position += len(item.actions)
    return done
