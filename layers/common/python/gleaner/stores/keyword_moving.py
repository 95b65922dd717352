"""Moves keywords that earlier versions stored: their words from look-up entries into posting lists, and adds claims.

Each knowledge base is one transaction: it adds the postings, deletes the entries and notes it in the head. So a move
can be interrupted at any write, and repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gleaner.errors import StoreUnavailable
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.keyword_postings import Action, FullLists, Head, PostingPlanner, all_entry_keys, find_unlisted
from gleaner.stores.keyword_pruning import MAX_PLANS, TOO_MANY_CHANGES
from gleaner.stores.keyword_stems import claim, merge_key, read_head


def new_layout(compact_from: datetime, *, until: datetime) -> dict[str, Any]:
    """The item that says that no keyword is left whose words are not in lists, as in a table that is new."""
    return schema.LAYOUT_KEY | {"created_at": utc_now(), "compact_from": compact_from, "compact_until": until}


class PostingMover:
    """Moves keywords. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._full_lists = FullLists(table)

    def move(self, head: Head, *, deadline: Deadline) -> bool:
        """Move an active keyword's words. Returns False if there are none to move, or nobody finds it any more."""
        for _ in range(MAX_PLANS):
            unlisted = find_unlisted(head) if head["status"] == "active" else []
            if not unlisted:
                return False
            try:
                for scope in unlisted:
                    self._move_within(head, scope, deadline)
            except ConditionFailed:  # it was pruned, deleted or moved since it was read
                current = read_head(self._table, head["keyword_id"], deadline=deadline)
                if current is None:
                    return False
                head = current
            else:
                return True
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def delete_misplaced(self, heads: Sequence[Head], *, deadline: Deadline) -> list[Head]:
        """Delete the heads that an earlier version wrote beside those of the present form, and return the others.

        It did not find these. What it added to their associations stays.
        """
        misplaced = [head for head in heads if _is_misplaced(head)]
        self._table.delete_many([{"pk": head["pk"], "sk": head["sk"]} for head in misplaced], deadline=deadline)
        return [head for head in heads if head not in misplaced]

    def claim_stems(self, heads: Sequence[Head], *, deadline: Deadline) -> int:
        """Claim the stems of active keywords from before there were claims, and return how many were claimed.

        Else they would be learned once more under ids of the present form. Stems of another keyword stay with it.
        """
        former = [head for head in heads if not schema.is_of_stems(head["keyword_id"])]
        keys = {head["keyword_id"]: schema.stems_key(merge_key(head["keyword_text"])) for head in former}
        distinct = {key["pk"]: key for key in keys.values()}
        taken = {item["pk"] for item in self._table.get_many(list(distinct.values()), deadline=deadline)}
        unclaimed = [head for head in former if keys[head["keyword_id"]]["pk"] not in taken]
        return sum(self._claim(head, deadline) for head in unclaimed)

    def _claim(self, head: Head, deadline: Deadline) -> bool:
        is_active = self._table.check(
            schema.keyword_key(head["keyword_id"]),
            condition="#status = :active",  # a claim must not outlive its keyword, which may have been deleted
            values={":active": "active"},
        )
        try:
            claiming = claim(self._table, head["keyword_id"], head["keyword_text"])
            self._table.transact([is_active, claiming], deadline=deadline)
        except ConditionFailed:
            return False
        return True

    def _move_within(self, head: Head, scope: str, deadline: Deadline) -> None:
        """Move the words of one knowledge base. Raises ConditionFailed if the keyword is not as it was read."""
        while True:  # each time, at least one list is found full that was not known to be
            planner = self._full_lists.planner()
            additions = planner.additions(scope, {head["keyword_id"]: head["keyword_text"]})
            kept = [request["Key"] for action in additions for request in action.values()]
            entries = [self._table.delete(key) for key in all_entry_keys(head, scope)]
            deletions = [action for action in entries if action["Delete"]["Key"] not in kept]
            try:
                self._table.transact([self._note(head, scope, planner), *additions, *deletions], deadline=deadline)
            except ConditionFailed as error:
                if 0 in error.positions or not self._full_lists.note_full_lists(additions, error, first=1):
                    raise
            else:
                self._full_lists.note_written(additions)
                return

    def _note(self, head: Head, scope: str, planner: PostingPlanner) -> Action:
        has_entries = planner.overflows(scope, head["keyword_text"])
        return self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression=("SET #has_entries = :yes " if has_entries else "") + "ADD #listed_in :scopes",
            condition="#status = :active AND contains(#kb_ids, :scope)"
            " AND (attribute_not_exists(#listed_in) OR NOT contains(#listed_in, :scope))",
            values={":active": "active", ":scope": scope, ":scopes": {scope}} | ({":yes": True} if has_entries else {}),
        )


def _is_misplaced(head: Head) -> bool:
    keyword_id = str(head.get("keyword_id", ""))
    return schema.is_of_stems(keyword_id) and head["pk"] == schema.association_partition(keyword_id)
