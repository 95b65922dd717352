"""The writes that forget a stored web answer. Forgetting can be resumed after an interruption at any write.

The first transaction empties the answer, so that no reader finds its text, and bars its pages. The emptied item stays
for a while: its mark keeps a query that is still running from storing the answer again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner.errors import StoreUnavailable, UnknownAnswer
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.forgotten_pages import bar_end, bar_pages, page_keys
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import is_forgotten, read_content
from gleaner.stores.keyword_pruning import PruneWriter
from gleaner.stores.schema import PruneQueue

_MAX_TRIES = 8  # one fails if the answer or a bar changes between the read and the write


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenAnswer:
    """A forgotten answer. Times are ISO 8601 text in UTC."""

    answer_id: str
    kb_id: str
    forgotten_at: str
    barred_until: str  # until then nothing is learned from its pages
    keyword_count: int  # from under which it was taken
    pages: tuple[str, ...]


class AnswerForgetting:
    """Forgets stored web answers."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._prune_writer = PruneWriter(table)

    def forget(self, answer_id: str, *, by: str, bars_pages: bool = True, deadline: Deadline) -> ForgottenAnswer:
        """Forget an answer, and bar its pages unless nothing is wrong with them.

        A repeated call resumes an interrupted one and reports the same. Raises UnknownAnswer, StoreUnavailable or
        DeadlineExceeded.
        """
        key = schema.answer_key(answer_id)
        for _ in range(_MAX_TRIES):
            item = self._table.get(key, deadline=deadline)
            if item is None:
                raise UnknownAnswer("There is no such stored answer. `gleaner keywords show` lists those of a keyword.")
            if is_forgotten(item):
                return self._finish(item, deadline)
            try:
                pages = [citation.url for citation in read_content(item)[1]] if bars_pages else []
                self._table.transact(self._empty(item, by, pages, deadline), deadline=deadline)
            except ConditionFailed:
                continue
        raise StoreUnavailable("The store changed too fast to forget the answer.")

    def _empty(
        self, answer: Mapping[str, Any], by: str, pages: Sequence[str], deadline: Deadline
    ) -> list[dict[str, Any]]:
        until = bar_end() if pages else utc_now()
        emptying = self._table.update(
            schema.answer_key(answer["result_id"]),
            expression="SET #forgotten_at = :now, #forgotten_by = :by, #barred_until = :until, #pages = :pages"
            " REMOVE #query, #answer, #answers, #citations, #content, #model",
            # It may have been forgotten or deleted since it was read.
            condition="attribute_exists(#pk) AND attribute_not_exists(#forgotten_at)",
            values={":now": to_timestamp(utc_now()), ":by": by, ":until": until, ":pages": pages},
        )
        listed = self._table.get(schema.bars_keys()[0], deadline=deadline) if pages else None
        return [emptying, *bar_pages(self._table, page_keys(pages), until=until, listed=listed or {})]

    def _finish(self, emptied: Mapping[str, Any], deadline: Deadline) -> ForgottenAnswer:
        """Delete the associations that lead to an emptied answer. No new ones appear: indexing checks the mark."""
        keyword_ids = sorted(emptied.get("keyword_ids", ()))
        if keyword_ids or "keyword_count" not in emptied:
            self._delete_associations(keyword_ids, emptied["result_id"], deadline)
            self._table.transact([self._unreference(emptied, len(keyword_ids))], deadline=deadline)
        return ForgottenAnswer(
            answer_id=emptied["result_id"],
            kb_id=emptied["kb_id"],
            forgotten_at=emptied["forgotten_at"],
            barred_until=emptied["barred_until"],
            keyword_count=emptied.get("keyword_count", len(keyword_ids)),
            pages=tuple(emptied["pages"]),
        )

    def _delete_associations(self, keyword_ids: list[str], answer_id: str, deadline: Deadline) -> None:
        for keyword_id in keyword_ids:
            self._unname(keyword_id, deadline)
        doomed = {
            keyword_id: [
                item
                for item in self._table.query_all(
                    partition=schema.association_partition(keyword_id),
                    begins_with=schema.ASSOCIATION_PREFIXES[0],
                    limit=None,
                    deadline=deadline,
                )
                if item.get("perplexity_result_id") == answer_id
            ]
            for keyword_id in keyword_ids
        }
        # Unconditionally: an association that is already gone is the goal.
        deletions = [
            self._table.delete({"pk": item["pk"], "sk": item["sk"]}) for items in doomed.values() for item in items
        ]
        for start in range(0, len(deletions), MAX_TRANSACTION_ACTIONS):
            self._table.transact(deletions[start : start + MAX_TRANSACTION_ACTIONS], deadline=deadline)

    def _unname(self, keyword_id: str, deadline: Deadline) -> None:
        """Have the answers of a keyword queried: without this one, its head might lack the next older one."""
        update = self._table.update(
            schema.keyword_key(keyword_id),
            expression="REMOVE #newest_answers",
            # A deleted keyword must not come back as an item without its text, and what is queried must be items.
            condition="attribute_exists(#pk) AND attribute_not_exists(#first_use)",
            values={},
            return_existing=True,
        )
        for _ in range(_MAX_TRIES):
            try:
                self._table.write(update, deadline=deadline)
            except ConditionFailed as error:
                head = error.existing_items.get(0)
                if head is None:
                    return
                self._prune_writer.write_first_use_out(head, deadline=deadline)
            else:
                return
        raise StoreUnavailable("The store changed too fast to forget the answer.")

    def _unreference(self, emptied: Mapping[str, Any], keyword_count: int) -> dict[str, Any]:
        return self._table.update(
            schema.answer_key(emptied["result_id"]),
            expression="SET #keyword_count = if_not_exists(#keyword_count, :count), #queue = :queue,"
            " #last_used_at = :now REMOVE #keyword_ids",
            # If a pruning run deleted it in the meantime, it must not come back as an item without a mark.
            condition="attribute_not_exists(#pk) OR attribute_exists(#forgotten_at)",
            values={
                ":count": keyword_count,
                ":queue": schema.queue_partition(PruneQueue.UNREFERENCED, emptied["result_id"]),
                ":now": to_timestamp(utc_now()),
            },
        )
