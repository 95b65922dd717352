"""Gives documents back whose holder died with an earlier service, so that they need not wait for the leases to end."""

from __future__ import annotations

from collections.abc import Iterable

from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.document_leases import DocumentLeases, Lease
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table

_SECONDS = 30.0
_MAX_HELD = 100  # more than a service ever holds at once
_REASON = "The service was stopped. It goes on with the document."


def release_dead(table: Table, kb_ids: Iterable[str]) -> None:
    """Release what is held in these knowledge bases; call it only while nobody else can hold anything.

    Raises StoreUnavailable and DeadlineExceeded.
    """
    deadline, leases, store = Deadline.after(_SECONDS), DocumentLeases(table), DocumentStore(table)
    for kb_id in kb_ids:
        for entry in store.list(kb_id, state=DocumentState.LOADING, limit=_MAX_HELD, deadline=deadline):
            item = table.get(schema.document_key(kb_id, entry.document_id), deadline=deadline)
            if item is None or "holder" not in item:
                continue
            lease = Lease(
                kb_id=kb_id,
                document_id=entry.document_id,
                holder=item["holder"],
                ends_at=item["lease_ends_at"],
                attempt=item["attempt"],
                next_chunk=0,
                content_hash=None,
                entry=entry,
            )
            leases.release(lease, _REASON, deadline=deadline)
