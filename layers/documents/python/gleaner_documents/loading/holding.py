"""Holds the lease on a document while it is written: no request goes to the index that may outlast the lease."""

from __future__ import annotations

import time
from collections.abc import Callable

from gleaner.errors import LoadingPaused
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_leases import DocumentLeases, Lease

LEASE_SECONDS = 300.0
STORE_SECONDS = 10.0  # for one call of the store
# Clocks of two machines differ, and a request that was given up may still arrive.
_MARGIN_SECONDS = 30.0


class Holding:
    """The lease of one holder, and what it has checked until now."""

    def __init__(
        self, leases: DocumentLeases, lease: Lease, deadline: Deadline, *, clock: Callable[[], float] = time.time
    ) -> None:
        """`deadline` is when the process has to end; `clock` is the one of the leases."""
        self._leases = leases
        self._deadline = deadline
        self._clock = clock
        self.lease = lease

    def permit(self, seconds: float) -> None:
        """Let a request to the index go that may take `seconds`.

        Raises LoadingPaused if no time is left for it, LeaseLost, StoreUnavailable and DeadlineExceeded.
        """
        if self._deadline.remaining() < seconds:
            raise LoadingPaused("The document takes longer than one function may run.", seconds=0.0)
        if self.lease.ends_at - self._clock() < seconds + _MARGIN_SECONDS:
            self.note(self.lease.content_hash, self.lease.next_chunk)

    def note(self, content_hash: str | None, next_chunk: int) -> None:
        """Keep the lease, and the checkpoint that the chunks of a version below `next_chunk` are written."""
        self.lease = self._leases.keep(
            self.lease,
            next_chunk=next_chunk,
            content_hash=content_hash,
            seconds=LEASE_SECONDS,
            deadline=Deadline.after(STORE_SECONDS),
        )

    def note_upload(self, upload_id: str | None) -> None:
        """Note by which upload the version comes that is to be written, where the index holds no other."""
        self.lease = self._leases.note_upload(self.lease, upload_id, deadline=Deadline.after(STORE_SECONDS))
