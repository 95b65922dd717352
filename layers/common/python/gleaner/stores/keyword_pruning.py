"""Taking keywords out of use, so that an interruption at any write can be mended.

A keyword is found only while its head is active, so the head decides, and every transaction writes or checks it.
A keyword with so much behind it that one transaction does not hold its pruning stands in the queue UNFINISHED
between them; whoever meets it finishes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gleaner.errors import StoreUnavailable
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import entry_keys
from gleaner.stores.schema import PruneQueue

Head = Mapping[str, Any]  # the item of a keyword
Action = dict[str, Any]

MAX_PLANS = 8  # a plan is stale when a web answer was deleted since it was read
TOO_MANY_CHANGES = "The store changed too fast to prune or restore a keyword."
MAX_OTHER_ACTIONS = MAX_TRANSACTION_ACTIONS - 2  # the head's own action, and the record that the run pruned it


def is_unfinished(head: Head) -> bool:
    """Whether a pruning of this keyword was interrupted, or goes on."""
    return str(head.get("queue", "")).startswith(PruneQueue.UNFINISHED.value)


class PruneWriter:
    """Writes of pruning. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def prune(self, head: Head, run_id: str, *, deadline: Deadline) -> bool:
        """Prune the keyword as `head` was read; False when it was used, or pruned by another, since then."""
        for _ in range(MAX_PLANS):
            after = self._undoing(head, run_id, head.get("kb_ids", ()), deadline)
            unfinished = len(after) > MAX_OTHER_ACTIONS
            first = [self._head_pruned(head, run_id, unfinished=unfinished), self._pruned_by(run_id, head)]
            try:
                self._table.transact([*first, *after[:MAX_OTHER_ACTIONS]], deadline=deadline)
            except ConditionFailed as error:
                if 0 in error.positions:
                    return False
                continue  # a web answer was deleted since it was read
            if unfinished and not self._finish(head["keyword_id"], run_id, after[MAX_OTHER_ACTIONS:], deadline):
                self.finish({**head, "pruned_run_id": run_id}, deadline=deadline)
            return True
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def finish(self, head: Head, *, deadline: Deadline) -> None:
        """Do what an interrupted pruning of this keyword left undone."""
        keyword, run_id = head["keyword_id"], head["pruned_run_id"]
        for _ in range(MAX_PLANS):
            kb_ids = {item["kb_id"] for item in self.associations(keyword, deadline)}
            if self._finish(keyword, run_id, self._undoing(head, run_id, kb_ids, deadline), deadline):
                return
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def reclassify(self, head: Head, *, deadline: Deadline) -> None:
        """Let a keyword that was used more than its queue says stand where it belongs, so that it is not read again."""
        action = self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression="SET #queue = :queue",
            condition="#status = :active AND #usage_count = :uses",  # a use since then has set it anew
            values={
                ":queue": schema.active_partition(head["keyword_id"], head["usage_count"]),
                ":active": "active",
                ":uses": head["usage_count"],
            },
        )
        with suppress(ConditionFailed):
            self._table.transact([action], deadline=deadline)

    def delete_unreferenced(self, answer: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Delete a web answer whose keywords are all gone; one that still has keywords leaves the queue."""
        key = {"pk": answer["pk"], "sk": answer["sk"]}
        condition = "#last_used_at = :read"  # a keyword that came or went since then set it anew
        if answer.get("keyword_ids"):
            action = self._table.update(
                key,
                expression="REMOVE #queue, #last_used_at",
                condition=condition,
                values={":read": answer["last_used_at"]},
            )
        else:
            action = self._table.delete(
                key,
                condition=f"attribute_not_exists(#keyword_ids) AND {condition}",
                values={":read": answer["last_used_at"]},
            )
        try:
            self._table.transact([action], deadline=deadline)
        except ConditionFailed:
            return False
        return not answer.get("keyword_ids")

    def _undoing(self, head: Head, run_id: str, kb_ids: Collection[str], deadline: Deadline) -> list[Action]:
        """What makes a keyword's look-up entries go, its associations archived and its answers unreferenced."""
        associations = self.associations(head["keyword_id"], deadline)
        return [
            *(self._remove_entry(key) for key in entries(head, kb_ids)),
            *(self._archive(item, run_id) for item in associations if item["status"] == "active"),
            *(
                self._unreference(result, head["keyword_id"])
                for result in self.existing_results(associations, deadline)
            ),
        ]

    def associations(self, keyword: str, deadline: Deadline) -> list[dict[str, Any]]:
        """All associations of a keyword, of any status."""
        partition = schema.keyword_key(keyword)["pk"]
        return [
            item
            for prefix in schema.ASSOCIATION_PREFIXES
            for item in self._table.query_all(partition=partition, begins_with=prefix, limit=None, deadline=deadline)
        ]

    def existing_results(self, associations: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[str]:
        """Ids of the web answers of associations that are stored still."""
        keys = [schema.answer_key(result) for result in _results(associations)]
        found = self._table.get_many(keys, deadline=deadline, consistent=True) if keys else []
        return sorted(item["result_id"] for item in found)

    def _finish(self, keyword: str, run_id: str, actions: Sequence[Action], deadline: Deadline) -> bool:
        """Whether nothing is left to do; False when a web answer was deleted since the actions were planned."""
        unfinished = self._table.check(
            schema.keyword_key(keyword),
            # Whoever finished it before may have gone on to learn it anew: its new entries must stay.
            condition="#status = :pruned AND #pruned_run_id = :run AND begins_with(#queue, :unfinished)",
            values={":pruned": "pruned", ":run": run_id, ":unfinished": PruneQueue.UNFINISHED.value},
        )
        done = self._table.update(
            schema.keyword_key(keyword),
            expression="REMOVE #queue",
            condition="#pruned_run_id = :run AND begins_with(#queue, :unfinished)",
            values={":run": run_id, ":unfinished": PruneQueue.UNFINISHED.value},
        )
        try:
            self._write(actions, unfinished, deadline)
            self._table.transact([done], deadline=deadline)
        except ConditionFailed as error:
            return 0 in error.positions
        return True

    def _write(self, actions: Sequence[Action], guard: Action, deadline: Deadline) -> None:
        """Do the actions in transactions that each hold only while `guard`, their first action, does."""
        for start in range(0, len(actions), MAX_OTHER_ACTIONS):
            self._table.transact([guard, *actions[start : start + MAX_OTHER_ACTIONS]], deadline=deadline)

    def _head_pruned(self, head: Head, run_id: str, *, unfinished: bool) -> Action:
        keyword = head["keyword_id"]
        values = {
            ":pruned": "pruned",
            ":now": to_timestamp(utc_now()),
            ":run": run_id,
            ":active": "active",
            ":last_used": head["last_used_at"],
            ":uses": head["usage_count"],
        }
        if unfinished:
            values[":queue"] = schema.queue_partition(PruneQueue.UNFINISHED, keyword)
        return self._table.update(
            schema.keyword_key(keyword),
            expression="SET #status = :pruned, #updated_at = :now, #pruned_run_id = :run"
            + (", #queue = :queue REMOVE #kb_ids" if unfinished else " REMOVE #kb_ids, #queue"),
            # The values that the decision rests on: a use since then changed both.
            condition="#status = :active AND #last_used_at = :last_used AND #usage_count = :uses",
            values=values,
        )

    def _pruned_by(self, run_id: str, head: Head) -> Action:
        # Written again by a repeated run with the same values: no condition but the run's own key is needed.
        return self._table.update(
            schema.pruned_key(run_id, head["keyword_id"]),
            expression="SET #keyword_id = :id, #keyword_text = :text",
            condition="attribute_not_exists(#pk) OR #keyword_id = :id",
            values={":id": head["keyword_id"], ":text": head["keyword_text"]},
        )

    def _remove_entry(self, key: schema.Key) -> Action:
        # Without a condition: an entry that is gone is what is wanted.
        return self._table.delete(key)

    def _archive(self, item: Mapping[str, Any], run_id: str) -> Action:
        return self._table.update(
            {"pk": item["pk"], "sk": item["sk"]},
            expression="SET #status = :archived, #pruned_run_id = :run",
            condition="attribute_exists(#pk)",  # archiving must not make an association
            values={":archived": "archived", ":run": run_id},
        )

    def _unreference(self, result_id: str, keyword: str) -> Action:
        return self._table.update(
            schema.answer_key(result_id),
            expression="SET #queue = :queue, #last_used_at = :now DELETE #keyword_ids :keyword",
            condition="attribute_exists(#pk)",  # an answer that was deleted meanwhile stays deleted
            values={
                ":queue": schema.queue_partition(PruneQueue.UNREFERENCED, result_id),
                ":now": to_timestamp(utc_now()),
                ":keyword": {keyword},
            },
        )


def entries(head: Head, kb_ids: Collection[str]) -> Iterator[schema.Key]:
    """Keys of a keyword's look-up entries in some knowledge bases."""
    for kb_id in sorted(kb_ids):
        yield from entry_keys(head["keyword_id"], head["keyword_text"], kb_id)


def _results(associations: Sequence[Mapping[str, Any]]) -> list[str]:
    found = (item.get("perplexity_result_id") for item in associations)
    return list(dict.fromkeys(result for result in found if result))
