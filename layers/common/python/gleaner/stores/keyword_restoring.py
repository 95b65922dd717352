"""Bringing pruned keywords back, so that an interruption at any write leaves them whole as far as they are in use.

A keyword is in use from the first transaction on, in the knowledge bases whose entries are back, and names the run
that pruned it until the last: restoring it again goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gleaner.errors import StoreUnavailable
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_pruning import (
    MAX_OTHER_ACTIONS,
    MAX_PLANS,
    TOO_MANY_CHANGES,
    Action,
    Head,
    PruneWriter,
    entries,
    is_unfinished,
)


class RestoreWriter:
    """Writes of restoring. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._pruning = PruneWriter(table)

    def restore(self, head: Head, *, deadline: Deadline) -> bool:
        """Bring a pruned keyword back with all its associations and look-up entries; False when none is pruned.

        A keyword that was learned anew since it was pruned gets its history back. Restoring counts as a use
        for the keyword's age, so that the next run does not take it again.
        """
        if "pruned_run_id" not in head:
            return False
        if is_unfinished(head):
            self._pruning.finish(head, deadline=deadline)
        for _ in range(MAX_PLANS):
            failed = self._bring_back(head, deadline)
            if not failed:
                return True
            if 0 in failed:
                return False
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def _bring_back(self, head: Head, deadline: Deadline) -> tuple[int, ...]:
        """Restore it as it stands now; the positions of the actions whose condition did not hold, the head's is 0."""
        associations = self._pruning.associations(head["keyword_id"], deadline)
        kb_ids = {item["kb_id"] for item in associations} | set(head.get("kb_ids", ()))
        history = [
            # Answers first: an association in use whose answer does not know it could lose it.
            *(self._reference(result, head) for result in self._pruning.existing_results(associations, deadline)),
            *(self._revive(item) for item in associations if item["status"] != "active"),
        ]
        groups = {kb_id: [self._put_entry(key, head) for key in entries(head, [kb_id])] for kb_id in sorted(kb_ids)}
        steps = _steps(groups, history)
        try:
            for number, (found_in, actions) in enumerate(steps, 1):
                restored = self._head_restored(head, found_in, last=number == len(steps))
                self._table.transact([restored, *actions], deadline=deadline)
        except ConditionFailed as error:
            return error.positions
        return ()

    def _head_restored(self, head: Head, kb_ids: Collection[str], *, last: bool) -> Action:
        # Every step sets the time of last use, so that a pruning planned before the step fails.
        return self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression="SET #status = :active, #updated_at = :now, #last_used_at = :now, #queue = :queue"
            + (" REMOVE #pruned_run_id" if last else "")
            + (" ADD #kb_ids :kbs" if kb_ids else ""),
            condition="#pruned_run_id = :run",  # one that was restored or pruned anew since then is another
            values={
                ":active": "active",
                ":now": to_timestamp(utc_now()),
                ":queue": schema.active_partition(head["keyword_id"], head["usage_count"]),
                ":run": head["pruned_run_id"],
            }
            | ({":kbs": set(kb_ids)} if kb_ids else {}),
        )

    def _put_entry(self, key: schema.Key, head: Head) -> Action:
        return self._table.update(
            key,
            expression="SET #keyword_id = :id, #keyword_text = :text",
            condition="attribute_not_exists(#pk) OR #keyword_id = :id",  # never over another keyword's entry
            values={":id": head["keyword_id"], ":text": head["keyword_text"]},
        )

    def _revive(self, item: Mapping[str, Any]) -> Action:
        return self._table.update(
            {"pk": item["pk"], "sk": item["sk"]},
            expression="SET #status = :active REMOVE #pruned_run_id",
            condition="attribute_exists(#pk)",
            values={":active": "active"},
        )

    def _reference(self, result_id: str, head: Head) -> Action:
        return self._table.update(
            schema.answer_key(result_id),
            expression="ADD #keyword_ids :keyword",
            condition="attribute_exists(#pk)",  # an answer that was deleted meanwhile stays deleted
            values={":keyword": {head["keyword_id"]}},
        )


def _steps(groups: Mapping[str, Sequence[Action]], history: Sequence[Action]) -> list[tuple[set[str], list[Action]]]:
    """Transactions of restoring: the knowledge bases whose entries each brings back, and what goes beside the head."""
    steps: list[tuple[set[str], list[Action]]] = [(set(), [])]
    for kb_id, group in [*groups.items(), *((None, [action]) for action in history)]:
        if len(steps[-1][1]) + len(group) > MAX_OTHER_ACTIONS:
            steps.append((set(), []))
        steps[-1][1].extend(group)
        if kb_id is not None:
            steps[-1][0].add(kb_id)
    return steps
