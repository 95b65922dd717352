"""Leases on documents: of any number of holders one writes a document into the index at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gleaner.errors import LeaseLost, LoadingPaused
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.document_items import DocumentEntry, awaits_upload, set_values, state_values, timestamp, to_entry
from gleaner.stores.dynamodb import ConditionFailed, Table

_LEASE = ("holder", "lease_ends_at", "again", "attempt", "rests")
_CHECKPOINT = ("next_chunk", "checkpoint_hash")
_OFFER = ("offered_at", "offer_ends_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of a holder to write a document into the index until `ends_at`, in seconds since the epoch.

    `content_hash` and `next_chunk` are the checkpoint of this or an earlier holder: which version it was writing, and
    how many of its chunks are written. Without `content_hash` nobody has begun to write since the index held a complete
    version, or none. `attempt` counts, from 1, the holders that ended without a word before they wrote any chunk.
    """

    kb_id: str
    document_id: str
    holder: str
    ends_at: float
    attempt: int
    next_chunk: int
    content_hash: str | None
    entry: DocumentEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the loading of a document ended: its state, and of its object what `DocumentEntry` says.

    `modified_at` is when the object was written, in seconds since the epoch; None if it was not looked at.
    """

    state: DocumentState
    reason: str | None = None
    chunk_count: int = 0
    size_bytes: int = 0
    content_hash: str | None = None
    version: str | None = None
    groups: frozenset[str] | None = None
    upload_id: str | None = None
    modified_at: float | None = None


class DocumentLeases:
    """Takes, keeps and ends leases, with the state of the document in the same item.

    A lease ends at a time of its own, and can be taken over then. Every write names its condition and may be repeated.
    Methods raise StoreUnavailable or DeadlineExceeded, and those that need the lease LeaseLost.
    """

    def __init__(self, table: Table, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns the seconds since the epoch."""
        self._table = table
        self._clock = clock

    def take(
        self, kb_id: str, document_id: str, *, source_file_path: str, holder: str, seconds: float, deadline: Deadline
    ) -> Lease | None:
        """Take a document for `seconds`; `holder` is an id that one holder uses once.

        Returns None if another holder has it. That one has been told to look at the object once more, so that whoever
        asked has nothing to do. Raises LoadingPaused if it rests, as `finish` says.
        """
        key, state = schema.document_key(kb_id, document_id), state_values(kb_id, DocumentState.LOADING)
        while True:
            now = self._clock()
            values = {"source_file_path": source_file_path, "holder": holder, "lease_ends_at": now + seconds}
            taking = set_values(
                self._table,
                key,
                state | values | {"updated_at": timestamp(now)},
                more=[
                    "#queued_at = if_not_exists(#queued_at, :updated_at)",
                    "#attempt = if_not_exists(#attempt, :zero) + :one",
                ],
                remove=["reason", "again", "rests", "expires_at"],
                # The last condition holds if this write is repeated, because its response was lost.
                condition="attribute_not_exists(#holder) OR #lease_ends_at <= :now OR #holder = :holder",
                now=now,
                zero=0,
                one=1,
            )
            with suppress(ConditionFailed):
                return _to_lease(self._table.update_and_read(taking, deadline=deadline))
            if self._tell_holder(key, now, deadline):
                return None

    def _tell_holder(self, key: schema.Key, now: float, deadline: Deadline) -> bool:
        """Make the holder look again; False if there is none any more. Raises LoadingPaused if the document rests."""
        is_held = "attribute_exists(#holder) AND #lease_ends_at > :now"
        telling = set_values(
            self._table, key, {"again": True}, condition=f"{is_held} AND attribute_not_exists(#rests)", now=now
        )
        try:
            self._table.write(telling, deadline=deadline)
        except ConditionFailed as failed:
            item = failed.existing_items.get(0, {})
            if item.get("rests") and item["lease_ends_at"] > now:
                rest = item["lease_ends_at"] - now
                raise LoadingPaused("A request to the index may still be under way.", seconds=rest) from failed
            return False
        return True

    def keep(
        self, lease: Lease, *, next_chunk: int, content_hash: str | None, seconds: float, deadline: Deadline
    ) -> Lease:
        """Hold a document for `seconds` from now, and store a checkpoint: see `Lease`."""
        ends_at = self._clock() + seconds
        values = {"lease_ends_at": ends_at, "next_chunk": next_chunk, "checkpoint_hash": content_hash}
        attempt = 0 if next_chunk > lease.next_chunk else lease.attempt
        self._write_held(lease, values | {"attempt": attempt}, deadline)
        return replace(lease, ends_at=ends_at, next_chunk=next_chunk, content_hash=content_hash, attempt=attempt)

    def finish(self, lease: Lease, outcome: Outcome, *, deadline: Deadline, rests: bool = False) -> bool:
        """Store how the loading ended and give the document back; if it `rests`, to nobody before the lease ends.

        It has to rest while a request may be under way to the index that nobody waits for any more. Returns False, and
        keeps the lease, if the object has to be looked at once more. A checkpoint outlasts a failure only.
        """
        now = self._clock()
        values = state_values(lease.kb_id, outcome.state) | {
            "reason": outcome.reason,
            "chunk_count": outcome.chunk_count,
            "size_bytes": outcome.size_bytes,
            "content_hash": outcome.content_hash,
            "version": outcome.version,
            "groups": set(outcome.groups or ()) or None,
            "upload_id": outcome.upload_id,
            "modified_at": outcome.modified_at,
            "updated_at": timestamp(now),
            "loaded_at": _loaded_at(lease.entry, outcome, timestamp(now)),
            "ended_by": lease.holder,
        }
        values |= {"rests": True} if rests else {}
        remove = [*(("again",) if rests else _LEASE), *(() if outcome.state is DocumentState.FAILED else _CHECKPOINT)]
        remove += _OFFER if outcome.modified_at is None else ()
        update = set_values(
            self._table, _key(lease), values, remove=remove, condition=_UNDISTURBED, holder=lease.holder
        )
        return self._end(lease, update, deadline)

    def note_upload(self, lease: Lease, upload_id: str | None, *, deadline: Deadline) -> Lease:
        """Note by which upload the version comes that is to be written, where the index holds no other."""
        self._write_held(lease, {"upload_id": upload_id, "lease_ends_at": lease.ends_at}, deadline)
        return replace(lease, entry=replace(lease.entry, upload_id=upload_id))

    def remove(self, lease: Lease, *, deadline: Deadline) -> bool:
        """Forget a document whose object is gone, and of which the index holds nothing. Returns False as `finish`.

        An upload that was allowed is awaited on, unless an object came since then.
        """
        now = self._clock()
        values = {":holder": lease.holder, ":now": now}
        unawaited = "(attribute_not_exists(#offer_ends_at) OR #offer_ends_at <= :now OR #offered_at <= #modified_at)"
        deletion = self._table.delete(_key(lease), condition=f"{_UNDISTURBED} AND {unawaited}", values=values)
        with suppress(ConditionFailed):
            self._table.write(deletion, deadline=deadline)
            return True
        item = self._table.get(_key(lease), deadline=deadline)
        if item is None:  # the response to the deletion was lost
            return True
        if not awaits_upload(item, now):
            return self._look_again(lease, deadline)
        waiting = state_values(lease.kb_id, DocumentState.QUEUED) | {
            "expires_at": math.ceil(item["offer_ends_at"]),
            "ended_by": lease.holder,
        }
        update = set_values(
            self._table,
            _key(lease),
            waiting,
            remove=[*_LEASE, *_CHECKPOINT, *_OF_VERSION],
            condition=_UNDISTURBED,
            holder=lease.holder,
        )
        return self._end(lease, update, deadline)

    def release(self, lease: Lease, reason: str, *, deadline: Deadline) -> None:
        """Give a document back whose loading goes on later, for a reason. Does nothing if the lease is lost."""
        with suppress(ConditionFailed):
            values = {"reason": reason, "updated_at": timestamp(self._clock())}
            self._table.write(
                set_values(
                    self._table, _key(lease), values, remove=_LEASE, condition="#holder = :holder", holder=lease.holder
                ),
                deadline=deadline,
            )

    def _end(self, lease: Lease, update: Mapping[str, Any], deadline: Deadline) -> bool:
        try:
            self._table.write(update, deadline=deadline)
        except ConditionFailed as failed:
            if failed.existing_items.get(0, {}).get("ended_by") == lease.holder:  # the first response was lost
                return True
            return self._look_again(lease, deadline)
        return True

    def _look_again(self, lease: Lease, deadline: Deadline) -> bool:
        self._write_held(lease, {"again": None, "lease_ends_at": lease.ends_at}, deadline)
        return False

    def _write_held(self, lease: Lease, values: Mapping[str, Any], deadline: Deadline) -> None:
        update = set_values(self._table, _key(lease), values, condition="#holder = :holder", holder=lease.holder)
        try:
            self._table.write(update, deadline=deadline)
        except ConditionFailed as failed:
            raise LeaseLost("Another process has taken this document over.") from failed


_UNDISTURBED = "#holder = :holder AND attribute_not_exists(#again)"
# What is known of the version in the index.
_OF_VERSION = (
    *("reason", "chunk_count", "size_bytes", "content_hash", "version", "groups", "upload_id"),
    *("modified_at", "loaded_at"),
)


def _key(lease: Lease) -> schema.Key:
    return schema.document_key(lease.kb_id, lease.document_id)


def _loaded_at(before: DocumentEntry, outcome: Outcome, now: str) -> str | None:
    """When the version was loaded that the index holds, if it holds one."""
    is_same = outcome.content_hash == before.content_hash and before.loaded_at is not None
    if outcome.content_hash is None or is_same or outcome.state is not DocumentState.LOADED:
        return before.loaded_at if outcome.content_hash else None
    return now


def _to_lease(item: Mapping[str, Any]) -> Lease:
    entry = to_entry(item, item["lease_ends_at"])
    if entry is None:
        raise AssertionError("a document that is being loaded has an entry")
    return Lease(
        kb_id=entry.kb_id,
        document_id=entry.document_id,
        holder=item["holder"],
        ends_at=item["lease_ends_at"],
        attempt=item["attempt"],
        next_chunk=item.get("next_chunk", 0),
        content_hash=item.get("checkpoint_hash"),
        entry=entry,
    )
