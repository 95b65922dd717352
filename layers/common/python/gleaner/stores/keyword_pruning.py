"""The writes that prune keywords. Pruning can be resumed after an interruption at any write.

A keyword is found only while its head is active, so every transaction writes or checks the head. A keyword whose
pruning needs several transactions is in the queue UNFINISHED until the last; any process that reads it there
finishes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gleaner.errors import StoreUnavailable
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import is_forgotten
from gleaner.stores.keyword_postings import Head, removals
from gleaner.stores.schema import PruneQueue

Action = dict[str, Any]

MAX_PLANS = 8  # a plan is stale if a web answer was deleted after it was read
# An answer that was deleted or forgotten in the meantime stays so.
EXISTING_ANSWER = "attribute_exists(#pk) AND attribute_not_exists(#forgotten_at)"
TOO_MANY_CHANGES = "The store changed too fast to prune or restore a keyword."
MAX_OTHER_ACTIONS = MAX_TRANSACTION_ACTIONS - 2  # two are for the head, and the record that the run pruned it


def is_unfinished(head: Head) -> bool:
    """Whether a pruning of this keyword was interrupted or is in progress."""
    return str(head.get("queue", "")).startswith(PruneQueue.UNFINISHED.value)


class PruneWriter:
    """Writes what pruning changes. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def prune(self, head: Head, run_id: str, *, deadline: Deadline) -> bool:
        """Prune the keyword of `head`. Returns False if it was used or pruned since `head` was read."""
        for _ in range(MAX_PLANS):
            actions = self._plan_removal(head, run_id, head.get("kb_ids", ()), deadline)
            unfinished = len(actions) > MAX_OTHER_ACTIONS
            first = [self._mark_head(head, run_id, unfinished=unfinished), self._record_pruned(run_id, head)]
            try:
                self._table.transact([*first, *actions[:MAX_OTHER_ACTIONS]], deadline=deadline)
            except ConditionFailed as error:
                if 0 in error.positions:
                    return False
                continue  # a web answer was deleted after it was read
            if unfinished and not self._finish(head["keyword_id"], run_id, actions[MAX_OTHER_ACTIONS:], deadline):
                self.finish({**head, "pruned_run_id": run_id}, deadline=deadline)
            return True
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def finish(self, head: Head, *, deadline: Deadline) -> None:
        """Finish an interrupted pruning of this keyword."""
        keyword_id, run_id = head["keyword_id"], head["pruned_run_id"]
        for _ in range(MAX_PLANS):
            kb_ids = {item["kb_id"] for item in self.read_associations(head, deadline)}
            if self._finish(keyword_id, run_id, self._plan_removal(head, run_id, kb_ids, deadline), deadline):
                return
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def reclassify(self, head: Head, *, deadline: Deadline) -> None:
        """Move a keyword to the partition of its usage count, so that runs do not read it again."""
        action = self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression="SET #queue = :queue",
            condition="#status = :active AND #usage_count = :uses",  # else it was used since the read
            values={
                ":queue": schema.active_partition(head["keyword_id"], head["usage_count"]),
                ":active": "active",
                ":uses": head["usage_count"],
            },
        )
        with suppress(ConditionFailed):
            self._table.transact([action], deadline=deadline)

    def delete_unreferenced(self, answer: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Delete a web answer or bar without keywords, else take it off the queue. Returns whether it was deleted."""
        key = {"pk": answer["pk"], "sk": answer["sk"]}
        condition = "#last_used_at = :read"  # fails if a keyword was added or removed since the read
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

    def _plan_removal(self, head: Head, run_id: str, kb_ids: Collection[str], deadline: Deadline) -> list[Action]:
        """Actions: remove a keyword's words, archive its associations, and take it from its web answers."""
        associations = self.read_associations(head, deadline)
        answers = self._existing_answers(associations, deadline)
        return [
            *removals(self._table, head, kb_ids),
            *(self._archive(item, run_id) for item in associations if item["status"] == "active"),
            *(self._unreference(answer, head["keyword_id"]) for answer in answers),
        ]

    def read_associations(self, head: Head, deadline: Deadline) -> list[dict[str, Any]]:
        """All associations of a keyword, of any status. From then on each is an item."""
        self.write_first_use_out(head, deadline=deadline)
        partition = schema.association_partition(head["keyword_id"])
        return [
            item
            for prefix in schema.ASSOCIATION_PREFIXES
            for item in self._table.query_all(partition=partition, begins_with=prefix, limit=None, deadline=deadline)
        ]

    def write_first_use_out(self, head: Head, *, deadline: Deadline) -> None:
        """Let the association that the head of a keyword may hold be an item."""
        if "first_use" in head:
            from gleaner.stores.keyword_first_use import write_out  # learning seldom needs it

            write_out(self._table, head, deadline=deadline)

    def existing_result_ids(self, associations: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[str]:
        """Ids of the associations' web answers that still exist."""
        return [answer["result_id"] for answer in self._existing_answers(associations, deadline)]

    def _existing_answers(self, associations: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[dict[str, Any]]:
        keys = [schema.answer_key(result_id) for result_id in _result_ids(associations)]
        items = self._table.get_many(keys, deadline=deadline, consistent=True) if keys else []
        return sorted((item for item in items if not is_forgotten(item)), key=lambda item: str(item["result_id"]))

    def _finish(self, keyword_id: str, run_id: str, actions: Sequence[Action], deadline: Deadline) -> bool:
        """Write the rest of a pruning. Returns False if a web answer was deleted after the actions were planned."""
        still_unfinished = self._table.check(
            schema.keyword_key(keyword_id),
            # Another process may have finished this pruning and learned the keyword again: its new entries must stay.
            condition="#status = :pruned AND #pruned_run_id = :run AND begins_with(#queue, :unfinished)",
            values={":pruned": "pruned", ":run": run_id, ":unfinished": PruneQueue.UNFINISHED.value},
        )
        completion = self._table.update(
            schema.keyword_key(keyword_id),
            expression="REMOVE #queue",
            condition="#pruned_run_id = :run AND begins_with(#queue, :unfinished)",
            values={":run": run_id, ":unfinished": PruneQueue.UNFINISHED.value},
        )
        try:
            self._write(actions, still_unfinished, deadline)
            self._table.transact([completion], deadline=deadline)
        except ConditionFailed as error:
            return 0 in error.positions
        return True

    def _write(self, actions: Sequence[Action], guard: Action, deadline: Deadline) -> None:
        """Write the actions in transactions, each with `guard` as its first action."""
        for start in range(0, len(actions), MAX_OTHER_ACTIONS):
            self._table.transact([guard, *actions[start : start + MAX_OTHER_ACTIONS]], deadline=deadline)

    def _mark_head(self, head: Head, run_id: str, *, unfinished: bool) -> Action:
        keyword_id = head["keyword_id"]
        values = {
            ":pruned": "pruned",
            ":now": to_timestamp(utc_now()),
            ":run": run_id,
            ":active": "active",
            ":last_used": head["last_used_at"],
            ":uses": head["usage_count"],
        }
        if unfinished:
            values[":queue"] = schema.queue_partition(PruneQueue.UNFINISHED, keyword_id)
        return self._table.update(
            schema.keyword_key(keyword_id),
            expression="SET #status = :pruned, #updated_at = :now, #pruned_run_id = :run"
            # What is archived must not be named; from now on its answers are queried.
            + (", #queue = :queue REMOVE" if unfinished else " REMOVE #queue,")
            + " #kb_ids, #listed_in, #newest_answers",
            # The decision to prune rests on these values; a later use changes both.
            condition="#status = :active AND #last_used_at = :last_used AND #usage_count = :uses",
            values=values,
        )

    def _record_pruned(self, run_id: str, head: Head) -> Action:
        # A retry writes the same values again.
        return self._table.update(
            schema.pruned_key(run_id, head["keyword_id"]),
            expression="SET #keyword_id = :id",
            condition="attribute_not_exists(#pk) OR #keyword_id = :id",
            values={":id": head["keyword_id"]},
        )

    def _archive(self, item: Mapping[str, Any], run_id: str) -> Action:
        return self._table.update(
            {"pk": item["pk"], "sk": item["sk"]},
            expression="SET #status = :archived, #pruned_run_id = :run",
            condition="attribute_exists(#pk)",  # archiving must not create an association
            values={":archived": "archived", ":run": run_id},
        )

    def _unreference(self, answer: Mapping[str, Any], keyword_id: str) -> Action:
        """Take a keyword from an answer. With its last keyword, the answer is archived and loses its question."""
        result_id = answer["result_id"]
        is_last = answer.get("keyword_ids", set()) <= {keyword_id}
        values = {
            ":queue": schema.queue_partition(PruneQueue.UNREFERENCED, result_id),
            ":now": to_timestamp(utc_now()),
            ":keyword": {keyword_id},
        }
        # Fails, and is planned again, if other keywords came or went since the answer was read.
        alone = "(attribute_not_exists(#keyword_ids) OR #keyword_ids = :keyword)"
        return self._table.update(
            schema.answer_key(result_id),
            expression="SET #queue = :queue, #last_used_at = :now"
            + (", #query = :empty, #answers = :empty" if is_last else "")
            + " DELETE #keyword_ids :keyword",
            condition=f"{EXISTING_ANSWER} AND {alone if is_last else f'NOT {alone}'}",
            values=values | ({":empty": ""} if is_last else {}),
        )


def _result_ids(associations: Sequence[Mapping[str, Any]]) -> list[str]:
    result_ids = (item.get("perplexity_result_id") for item in associations)
    return list(dict.fromkeys(result_id for result_id in result_ids if result_id))
