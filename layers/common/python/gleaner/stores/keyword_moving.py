"""Moves the words of keywords that earlier versions stored from look-up entries into posting lists.

A move can be interrupted at any write: a keyword is found by its entries until the transaction that deletes them, which
adds its postings. Its head says so last.
"""

from __future__ import annotations

from typing import Any

from gleaner.errors import StoreUnavailable
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores._newest_answers import keep_newest, name_of
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_postings import Action, FullLists, Head, PostingPlanner, all_entry_keys, is_in_lists
from gleaner.stores.keyword_pruning import MAX_PLANS, TOO_MANY_CHANGES, PruneWriter

_UNCHANGED = (
    "#status = :active AND #usage_count = :uses AND contains(#kb_ids, :kb) AND attribute_not_exists(#has_postings)"
)


def new_layout() -> dict[str, Any]:
    """The item that says that no keyword is left whose words are not in lists, as in a table that is new."""
    return schema.LAYOUT_KEY | {"created_at": to_timestamp(utc_now())}


class PostingMover:
    """Moves keywords. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._full_lists = FullLists(table)
        self._prune_writer = PruneWriter(table)

    def move(self, head: Head, *, deadline: Deadline) -> bool:
        """Move an active keyword's words. Returns False if they are in lists already, or nobody finds it."""
        for _ in range(MAX_PLANS):
            if head["status"] != "active" or is_in_lists(head) or not head.get("kb_ids"):
                return False
            if self._try_move(head, deadline):
                return True
            current = self._table.get(schema.keyword_key(head["keyword_id"]), deadline=deadline)
            if current is None:
                return False
            head = current
        raise StoreUnavailable(TOO_MANY_CHANGES)

    def _try_move(self, head: Head, deadline: Deadline) -> bool:
        """Move from the current items. Returns False if they changed, or if a list is full."""
        associations = self._prune_writer.read_associations(head["keyword_id"], deadline)
        names = {name for item in associations if item["status"] == "active" and (name := name_of(item)) is not None}
        scopes, planner = sorted(head["kb_ids"]), self._full_lists.planner()
        for scope in scopes:
            is_last = scope == scopes[-1]
            first = self._complete(head, scope, keep_newest(names), planner) if is_last else self._check(head, scope)
            additions = planner.additions(scope, {head["keyword_id"]: head["keyword_text"]})
            kept = [request["Key"] for action in additions for request in action.values()]
            entries = [self._table.delete(key) for key in all_entry_keys(head, scope)]
            deletions = [action for action in entries if action["Delete"]["Key"] not in kept]
            try:
                self._table.transact([first, *additions, *deletions], deadline=deadline)
            except ConditionFailed as error:
                self._full_lists.note_full_lists(additions, error, first=1)
                return False
            self._full_lists.note_written(additions)
        return True

    def _check(self, head: Head, scope: str) -> Action:
        return self._table.check(
            schema.keyword_key(head["keyword_id"]), condition=_UNCHANGED, values=self._unchanged(head, scope)
        )

    def _complete(self, head: Head, scope: str, newest: set[str] | None, planner: PostingPlanner) -> Action:
        has_entries = any(planner.overflows(one, head["keyword_text"]) for one in head["kb_ids"])
        return self._table.update(
            schema.keyword_key(head["keyword_id"]),
            expression="SET #has_postings = :yes"
            + (", #has_entries = :yes" if has_entries else "")
            + (", #newest_answers = :newest" if newest else ""),
            condition=f"{_UNCHANGED} AND #kb_ids = :kbs",  # as the associations and the scopes were read
            values=self._unchanged(head, scope)
            | {":yes": True, ":kbs": set(head["kb_ids"])}
            | ({":newest": newest} if newest else {}),
        )

    @staticmethod
    def _unchanged(head: Head, scope: str) -> dict[str, Any]:
        return {":active": "active", ":uses": head["usage_count"], ":kb": scope}
