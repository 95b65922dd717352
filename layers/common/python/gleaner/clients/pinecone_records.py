"""Converts records to and from the fields that the Pinecone index stores."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from gleaner.addresses import is_page_address
from gleaner.clients._json_values import as_number, as_string
from gleaner.groups import ACL, read_stored_groups
from gleaner.model import CHUNK_SEPARATOR, JsonObject, Record

_MAX_NUMBER = 2**53  # of a page or a chunk; beyond it, readers of JSON differ

TEXT_FIELD = "text"  # the field that the index embeds
# The index embeds one field only, so the heading stands before the text. This is the number of characters (code
# points) before the text itself; records without it have no heading. See docs/decisions/0020.
START_FIELD = "text_start"
OWNER_FIELD = "owner"
SMALLEST_FIELD = "chunk_index"  # what a search for ids asks for: without names of fields it would get all


def to_wire(record: Record) -> JsonObject:
    """Convert a record to one JSON object, without fields that are None: the index stores no nulls."""
    heading = f"{record.heading}\n\n" if record.heading else ""
    fields: JsonObject = {
        "_id": record.id,
        TEXT_FIELD: heading + record.text,
        START_FIELD: len(heading) or None,
        "title": record.title,
        "chapter": record.chapter,
        "source_file_path": record.source_file_path,
        "source_url": record.source_url,
        "page_number": record.page_number,
        "page_label": record.page_label,
        "chunk_index": record.chunk_index,
        "content_hash": record.content_hash,
        "loaded_at": record.loaded_at,
        OWNER_FIELD: record.owner,
        ACL: list(record.groups) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def from_wire(record_id: str, fields: Mapping[str, Any] | None) -> Record | None:
    """Convert stored fields to a record, or return None when there is no text.

    Other programs may have written the record, so a missing or mistyped field gets a default value.
    """
    stored = fields or {}
    heading, text = _split(stored)
    if not text:
        return None
    document_id, _, position = record_id.rpartition(CHUNK_SEPARATOR)
    chunk_index = _get_number(stored, "chunk_index")
    if chunk_index is None:
        chunk_index = int(position) if re.fullmatch(r"[0-9]{1,9}", position) else 0
    source_file_path = _get_text(stored, "source_file_path") or ""
    return Record(
        id=record_id,
        text=text,
        title=_get_text(stored, "title") or source_file_path or document_id or record_id,
        source_file_path=source_file_path,
        chunk_index=chunk_index,
        content_hash=_get_text(stored, "content_hash") or "",
        chapter=_get_text(stored, "chapter"),
        source_url=_get_address(stored, "source_url"),
        page_number=_get_number(stored, "page_number"),
        heading=heading,
        page_label=_get_text(stored, "page_label"),
        loaded_at=_get_text(stored, "loaded_at"),
        groups=read_stored_groups(stored),
    )


def readable_by(groups: Collection[str]) -> JsonObject:
    """The filter for what members of these groups may read: all that is for nobody in particular, and for them.

    A field that is a list matches `$in` if any of its items does, and a missing field matches `$exists: false` alone
    (docs.pinecone.io/guides/search/filter-by-metadata, and `file-metadata` of its Assistant, which has examples).
    """
    for_all: JsonObject = {ACL: {"$exists": False}}
    return {"$or": [for_all, {ACL: {"$in": sorted(groups)}}]} if groups else for_all


def _split(stored: Mapping[str, Any]) -> tuple[str, str]:
    """The heading and the text of a record. A start that leaves no text is not one that Gleaner wrote."""
    whole = _get_text(stored, TEXT_FIELD) or ""
    start = _get_number(stored, START_FIELD) or 0
    text = whole[start:]
    return (whole[:start].rstrip("\n"), text) if text.strip() else ("", whole)


def _get_text(fields: Mapping[str, Any], name: str) -> str | None:
    value = as_string(fields.get(name))
    return value if value.strip() else None


def _get_address(fields: Mapping[str, Any], name: str) -> str | None:
    """Return the address of a page. Other schemes could run a script where an answer is shown."""
    value = (_get_text(fields, name) or "").strip()
    return value if is_page_address(value) else None


def _get_number(fields: Mapping[str, Any], name: str) -> int | None:
    """Return an integer field. The service stores every number as a float, so 3 may come back as 3.0."""
    value = as_number(fields.get(name))
    return int(value) if value is not None and value.is_integer() and 0 <= value <= _MAX_NUMBER else None
