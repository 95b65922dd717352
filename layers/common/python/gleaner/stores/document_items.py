"""What is known of a document in the object store, and the item of the documents table that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gleaner.model import DocumentState
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEntry:
    """A document in the object store, and what became of it. Times are ISO 8601 in UTC.

    `chunk_count`, `content_hash`, `groups` and `uploaded_by` are of the version that the index holds, or held before
    its loading; the last two may be known before there is any.
    """

    kb_id: str
    document_id: str
    source_file_path: str
    state: DocumentState
    reason: str | None = None  # why it was skipped or failed, or what its loading waits for
    chunk_count: int = 0
    size_bytes: int = 0
    content_hash: str | None = None
    version: str | None = None  # of the object: the id of its version, or its ETag
    groups: frozenset[str] | None = None  # who may find it; None: all callers of the knowledge base
    queued_at: str
    updated_at: str
    loaded_at: str | None = None
    uploaded_by: str | None = None  # the caller whose upload this is; None: nobody's, or it cannot be told
    offered_to: str | None = None  # the caller who last asked to upload it, while nothing was ever looked at
    offer_id: str | None = None  # of the last upload that was allowed, and of nobody but its caller
    upload_id: str | None = None  # of the upload that the index holds, or that was looked at

    def belongs_to(self, caller_id: str) -> bool:
        """Whether all that is known of it came, or may come, by this caller's upload."""
        return caller_id in (self.uploaded_by, self.offered_to)


def awaits_upload(item: Mapping[str, Any], now: float) -> bool:
    """Whether an upload was allowed that may still come: no object came since then."""
    return bool(item.get("offer_ends_at", 0) > now and item["offered_at"] > item.get("modified_at", 0))


def to_entry(item: Mapping[str, Any], now: float) -> DocumentEntry | None:
    """The entry of an item; None if it is only an upload that was allowed and never came."""
    state = DocumentState(item["state"])
    is_awaited = awaits_upload(item, now)
    if state is DocumentState.QUEUED and not is_awaited:
        return None
    asker, offer_id, upload_id = (item.get(name) for name in ("uploaded_by", "offer_id", "upload_id"))
    is_new = upload_id is None and not item.keys() & {"version", "content_hash"}
    return DocumentEntry(
        kb_id=item["kb_id"],
        document_id=item["document_id"],
        source_file_path=item["source_file_path"],
        state=DocumentState.QUEUED if is_awaited and state is not DocumentState.LOADING else state,
        reason=item.get("reason"),
        chunk_count=item.get("chunk_count", 0),
        size_bytes=item.get("size_bytes", 0),
        content_hash=item.get("content_hash"),
        version=item.get("version"),
        groups=frozenset(item["groups"]) if "groups" in item else None,
        queued_at=item["queued_at"],
        updated_at=item["updated_at"],
        loaded_at=item.get("loaded_at"),
        uploaded_by=asker if upload_id is not None and upload_id == offer_id else None,
        offered_to=asker if is_new else None,
        offer_id=offer_id,
        upload_id=upload_id,
    )


def timestamp(now: float) -> str:
    """A time in seconds since the epoch, as items hold it."""
    return to_timestamp(datetime.fromtimestamp(now, UTC))


def state_values(kb_id: str, state: DocumentState) -> dict[str, Any]:
    """The attributes of a state, also as a key of the index of states."""
    return {"state": state.value, "kb_state": schema.document_state_partition(kb_id, state.value)}


def set_values(
    table: Table,
    key: schema.Key,
    values: Mapping[str, Any],
    *,
    condition: str,
    more: Sequence[str] = (),
    remove: Sequence[str] = (),
    **others: Any,
) -> dict[str, Any]:
    """Action: set attributes of an item under a condition, and remove those that are None or in `remove`.

    `more` are further assignments; `others` are the further values of these and of the condition.
    """
    present = {name: value for name, value in values.items() if value is not None}
    removed = [*(name for name in values if name not in present), *remove]
    expression = "SET " + ", ".join([*(f"#{name} = :{name}" for name in present), *more])
    if removed:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in removed)
    placeholders = {f":{name}": value for name, value in (present | others).items()}
    return table.update(key, expression=expression, condition=condition, values=placeholders, return_existing=True)
