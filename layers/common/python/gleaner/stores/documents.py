"""The documents in the object store, and what became of each: one item of the documents table for each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.document_items import DocumentEntry, set_values, timestamp, to_entry
from gleaner.stores.dynamodb import ConditionFailed, Position, Table

_PAGE = 100


class DocumentStore:
    """Reads the states of documents, and notes who may upload one. `DocumentLeases` changes the states.

    Every write names its condition and may be repeated. Methods raise StoreUnavailable or DeadlineExceeded.
    """

    def __init__(self, table: Table, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns the seconds since the epoch."""
        self._table = table
        self._clock = clock

    def request_upload(
        self,
        kb_id: str,
        document_id: str,
        *,
        source_file_path: str,
        uploaded_by: str | None,
        upload_id: str,
        groups: frozenset[str] | None,
        known: DocumentEntry | None,
        seconds: float,
        deadline: Deadline,
    ) -> bool:
        """Note that a caller may upload a document within `seconds`: it reads as queued until it comes, or they end.

        `known` is what the caller was allowed to replace. Returns False, and notes nothing, if the document is for
        other groups by now. What is known of a version that was loaded before is kept, and whose it is: an upload
        becomes the caller's when it is looked at, by its `upload_id`. Of a new document nothing remains without one.
        """
        key, now = schema.document_key(kb_id, document_id), self._clock()
        offer = {
            "source_file_path": source_file_path,
            "uploaded_by": uploaded_by,
            "offer_id": upload_id,
            "offered_at": math.floor(now),  # an object store tells whole seconds
            "offer_ends_at": now + seconds,
            "kb_state": schema.document_state_partition(kb_id, DocumentState.QUEUED),
            "queued_at": timestamp(now),
            "updated_at": timestamp(now),
        }
        new = offer | {"state": DocumentState.QUEUED.value, "groups": set(groups or ()) or None}
        same = "attribute_not_exists(#groups)"
        values: dict[str, Any] = {"queued": DocumentState.QUEUED.value}
        if known is not None and known.groups:
            same, values["known_groups"] = "#groups = :known_groups", set(known.groups)
        first = self._table.put(
            key | new | {"expires_at": math.ceil(now + seconds)},
            # An upload that was allowed and never came says nothing any more.
            condition=f"attribute_not_exists(#kb_id) OR #state = :queued AND ({same} OR #offer_ends_at <= :now)",
            values={f":{name}": value for name, value in (values | {"now": now}).items()},
        )
        another = set_values(
            self._table,
            key,
            offer,
            condition=f"attribute_exists(#kb_id) AND #state <> :queued AND {same}",
            **values,
        )
        return self._write_if(first, deadline) or self._write_if(another, deadline)

    def withdraw_upload(self, kb_id: str, document_id: str, *, deadline: Deadline) -> None:
        """Do not await an upload any more that was allowed: somebody removes the document."""
        withdrawal = self._table.update(
            schema.document_key(kb_id, document_id),
            expression="REMOVE #offered_at, #offer_ends_at",
            condition="attribute_exists(#offer_ends_at)",
            values={},
        )
        self._write_if(withdrawal, deadline)

    def find(self, kb_id: str, document_id: str, *, deadline: Deadline) -> DocumentEntry | None:
        """What is known of a document, read consistently."""
        item = self._table.get(schema.document_key(kb_id, document_id), deadline=deadline)
        return to_entry(item, self._clock()) if item else None

    def find_many(self, kb_id: str, document_ids: Sequence[str], *, deadline: Deadline) -> Mapping[str, DocumentEntry]:
        """What is known of documents, by id. What changed a moment ago may be missing or old."""
        keys = [schema.document_key(kb_id, document_id) for document_id in document_ids]
        return {entry.document_id: entry for entry in self._to_entries(self._table.get_many(keys, deadline=deadline))}

    def list(
        self,
        kb_id: str,
        *,
        state: DocumentState | None = None,
        limit: int,
        after: Position | None = None,
        deadline: Deadline,
    ) -> Sequence[DocumentEntry]:
        """The next `limit` documents after the place of another one, which `place_of` tells.

        They are in the byte order of their ids. With a `state`, those that changed last come first; a document that
        changed a moment ago may be missing, and so may one that is awaited since its last version was being loaded.
        """
        if state is not None:
            return self._list_in_state(kb_id, state, limit, after, deadline)
        entries: Sequence[DocumentEntry] = ()
        last = after[0] if after else ""
        while len(entries) < limit:
            items = self._table.query_all(
                partition=kb_id,
                begins_with="",
                after=last,
                limit=limit - len(entries),
                deadline=deadline,
                keys=schema.DOCUMENTS,
            )
            if not items:
                break
            entries = [*entries, *self._to_entries(items)]
            last = items[-1]["document_id"]
        return entries

    def _list_in_state(
        self, kb_id: str, state: DocumentState, limit: int, after: Position | None, deadline: Deadline
    ) -> Sequence[DocumentEntry]:
        # What is awaited stays in the partition of the queued ones when the time for its upload has ended.
        entries: Sequence[DocumentEntry] = ()
        for partition in {state, DocumentState.QUEUED}:
            items = self._table.query_index(
                schema.BY_STATE,
                partition=schema.document_state_partition(kb_id, partition.value),
                position=lambda item: (item["updated_at"], item["document_id"]),
                after=after,
                limit=limit,
                deadline=deadline,
                skip=lambda item: all(entry.state is not state for entry in self._to_entries([item])),
            )
            entries = [*entries, *self._to_entries(items)]
        return sorted(entries, key=lambda entry: place_of(entry, state), reverse=True)[:limit]

    def list_by_uploader(self, uploaded_by: str, *, deadline: Deadline) -> Sequence[tuple[str, str]]:
        """The knowledge bases and ids of all documents that a caller last asked to upload, the oldest first.

        One that changed a moment ago may be missing.
        """
        items = self._table.iter_oldest(
            schema.BY_UPLOADER, partition=uploaded_by, before="\uffff", page=_PAGE, deadline=deadline
        )
        return [(item["kb_id"], item["document_id"]) for item in items]

    def forget_uploader(self, uploaded_by: str, *, deadline: Deadline) -> int:
        """Forget that a caller uploaded documents, which stay; returns how many named the caller."""
        count = 0
        for kb_id, document_id in self.list_by_uploader(uploaded_by, deadline=deadline):
            forget = self._table.update(
                schema.document_key(kb_id, document_id),
                expression="REMOVE #uploaded_by",
                condition="#uploaded_by = :uploaded_by",
                values={":uploaded_by": uploaded_by},
            )
            count += self._write_if(forget, deadline)
        return count

    def _to_entries(self, items: Sequence[dict[str, Any]]) -> Sequence[DocumentEntry]:
        now = self._clock()
        return [entry for item in items if (entry := to_entry(item, now)) is not None]

    def _write_if(self, action: Mapping[str, Any], deadline: Deadline) -> bool:
        try:
            self._table.write(action, deadline=deadline)
        except ConditionFailed:
            return False
        return True


def place_of(entry: DocumentEntry, state: DocumentState | None = None) -> Position:
    """The place of a document in the list of all, or of those in a state."""
    return (entry.document_id,) if state is None else (entry.updated_at, entry.document_id)
