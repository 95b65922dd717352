"""The writes that restore pruned keywords. Restoring can be resumed after an interruption at any write.

The first transaction makes the keyword active again, in the knowledge bases in which it is findable so far. The
head names the run that pruned it until the last transaction, so restoring it again resumes.
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
from gleaner.stores.keyword_postings import FullLists, Head, PostingPlanner
from gleaner.stores.keyword_pruning import (
    EXISTING_ANSWER,
    MAX_OTHER_ACTIONS,
    MAX_PLANS,
    TOO_MANY_CHANGES,
    Action,
    PruneWriter,
    is_unfinished,
)
from gleaner.stores.keyword_stems import missing_claim

_MAX_TRIES = 4 * MAX_PLANS  # some only find that posting lists are full


class RestoreWriter:
    """Writes what restoring changes. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._prune_writer = PruneWriter(table)
        self._full_lists = FullLists(table)

    def restore(self, head: Head, *, deadline: Deadline) -> bool:
        """Restore a pruned keyword with all its associations and postings. Returns False if it is not pruned.

        A keyword that was learned again after it was pruned gets its history back. Restoring resets the keyword's
        age, so that the next run does not prune it again.
        """
        if "pruned_run_id" not in head:
            return False
        if is_unfinished(head):
            self._prune_writer.finish(head, deadline=deadline)
        for _ in range(_MAX_TRIES):
            failures = self._try_restore(head, deadline)
            if not failures:
                return True
            if 0 in failures:
                return False
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def _try_restore(self, head: Head, deadline: Deadline) -> tuple[int, ...]:
        """Restore from the current items. Returns the positions of failed conditions; the head's position is 0."""
        associations = self._prune_writer.read_associations(head, deadline)
        result_ids = self._prune_writer.existing_result_ids(associations, deadline)
        kb_ids = {item["kb_id"] for item in associations} | set(head.get("kb_ids", ()))
        history = [
            # Answers first: an answer without this reference could be deleted while an active association needs it.
            *(self._reference(result_id, head) for result_id in result_ids),
            *(self._reactivate(item) for item in associations if item["status"] != "active"),
        ]
        texts = {head["keyword_id"]: head["keyword_text"]}
        claims = missing_claim(self._table, head, deadline=deadline)
        planner = self._full_lists.planner()
        additions = {kb_id: planner.additions(kb_id, texts) for kb_id in sorted(kb_ids)}
        steps = _plan_steps(claims, additions, history)
        try:
            for number, (step_kb_ids, actions) in enumerate(steps, 1):
                head_update = self._update_head(head, step_kb_ids, planner, last=number == len(steps))
                self._table.transact([head_update, *actions], deadline=deadline)
                self._full_lists.note_written(actions)
        except ConditionFailed as error:
            self._full_lists.note_full_lists(actions, error, first=1)
            return error.positions
        return ()

    def _update_head(self, head: Head, kb_ids: Collection[str], planner: PostingPlanner, *, last: bool) -> Action:
        has_entries = any(planner.overflows(kb_id, head["keyword_text"]) for kb_id in kb_ids)
        # Every step sets the time of last use, so that a pruning planned earlier fails.
        return self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression="SET #status = :active, #updated_at = :now, #last_used_at = :now, #queue = :queue"
            + (", #has_entries = :yes" if has_entries else "")
            + (" REMOVE #pruned_run_id" if last else "")
            + (" ADD #kb_ids :kbs, #listed_in :kbs" if kb_ids else ""),
            condition="#pruned_run_id = :run",  # fails if it was restored or pruned again since the read
            values={
                ":active": "active",
                ":now": to_timestamp(utc_now()),
                ":queue": schema.active_partition(head["keyword_id"], head["usage_count"]),
                ":run": head["pruned_run_id"],
            }
            | ({":kbs": set(kb_ids)} if kb_ids else {})
            | ({":yes": True} if has_entries else {}),
        )

    def _reactivate(self, item: Mapping[str, Any]) -> Action:
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
            condition=EXISTING_ANSWER,
            values={":keyword": {head["keyword_id"]}},
        )


def _plan_steps(
    claims: Sequence[Action], additions: Mapping[str, Sequence[Action]], history: Sequence[Action]
) -> list[tuple[set[str], list[Action]]]:
    """Group actions into transactions: the knowledge bases in which each makes it findable, and its actions."""
    # Claims go with the first: from then on the keyword is active, and near-duplicates are merged into it.
    steps: list[tuple[set[str], list[Action]]] = [(set(), [*claims])]
    for kb_id, actions in [*additions.items(), *((None, [action]) for action in history)]:
        if len(steps[-1][1]) + len(actions) > MAX_OTHER_ACTIONS:
            steps.append((set(), []))
        steps[-1][1].extend(actions)
        if kb_id is not None:
            steps[-1][0].add(kb_id)
    return steps
