"""Makes the records of a document's version of its bytes."""

from __future__ import annotations

from collections.abc import Callable

from gleaner.document_files import document_id
from gleaner.groups import Groups
from gleaner.model import Record, chunk_id, utc_now
from gleaner_documents.chunking import Chunk, ChunkSettings, chunk_document, heading_of
from gleaner_documents.groups import combine_groups
from gleaner_documents.model import Document
from gleaner_documents.plan import content_hash

ReadDocument = Callable[..., Document]  # `read_document`, within limits: of a path, its bytes and a `source_url`


def make_records(
    source_file_path: str,
    data: bytes,
    *,
    read: ReadDocument,
    chunking: ChunkSettings,
    source_url: str | None = None,
    sidecar: Groups = (),
    upload: Groups = (),
    kept: Groups = (),
) -> list[Record]:
    """The records of a document, at least one, in the order of its chunks.

    `sidecar` and `upload` are the groups that are named outside of the document, and `kept` those of the version that
    it replaces. Raises UnreadableDocument.
    """
    document = read(source_file_path, data, source_url=source_url)
    groups = combine_groups(sidecar=sidecar, upload=upload, front_matter=document.groups, kept=kept)
    version = content_hash(data, chunking, source_url=source_url, groups=sidecar or upload or kept)
    return [_make_record(document, chunk, version, groups) for chunk in chunk_document(document, chunking)]


def _make_record(document: Document, chunk: Chunk, version: str, groups: Groups) -> Record:
    return Record(
        id=chunk_id(document_id(document.source_file_path), chunk.index),
        text=chunk.text,
        heading=heading_of(document, chunk),
        title=document.title,
        chapter=chunk.chapter,
        source_file_path=document.source_file_path,
        source_url=document.source_url,
        page_number=chunk.page_number,
        page_label=chunk.page_label,
        chunk_index=chunk.index,
        content_hash=version,
        loaded_at=utc_now().isoformat(timespec="seconds"),
        groups=groups,
    )
