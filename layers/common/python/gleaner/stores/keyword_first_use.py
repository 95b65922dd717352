"""Writes the association that the head of a keyword holds as an item of its own, which it is to the code that follows.

Pruning, forgetting and deleting do so before they change what a keyword is associated with.
"""

from __future__ import annotations

from contextlib import suppress

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.keyword_items import first_association
from gleaner.stores.keyword_postings import Head


def write_out(table: Table, head: Head, *, deadline: Deadline) -> None:
    """Write what `head` holds as an item, unless it is written already. Raises StoreUnavailable or DeadlineExceeded."""
    item = first_association(head)
    if item is None:
        return
    giving_up = table.update(
        schema.keyword_key(head["keyword_id"]),
        expression="REMOVE #first_use",
        # It may have been written since the head was read, and the keyword deleted, and even learned anew.
        condition="#first_use.#association_id = :held AND #created_at = :created",
        values={":held": item["association_id"], ":created": head["created_at"]},
    )
    # No condition of its own: as long as the head holds it, nothing else is written under this key.
    writing = table.put(item, condition="")
    with suppress(ConditionFailed):
        table.transact([giving_up, writing], deadline=deadline)
