"""Synchronizes a knowledge base with files: replaces changed documents and leaves unchanged ones alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.model import Record, chunk_id, utc_now
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS, Chunk, ChunkSettings, chunk_document, heading_of
from gleaner_documents.model import Document, NothingToRead, UnreadableDocument
from gleaner_documents.plan import (
    Plan,
    content_hash,
    document_id,
    find_deleted,
    make_plan,
)
from gleaner_documents.reading_process import read_document_safely
from gleaner_documents.source_files import Root, SourceFile, find_source_files
from gleaner_local.ingestion.estimate import LoadEstimate, estimate_load

# Timeout of one request; the slowest is a batch that the embedded index embeds on a slow machine.
_REQUEST_SECONDS = 120.0
# Small documents are written together, as each request costs a round trip.
_RECORDS_PER_GROUP = 96
# Records sent between two progress reports: about half a second of work for the embedded index.
_RECORDS_PER_REPORT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far a run has come. A file counts by the share of its chunks that are written."""

    files_done: float
    files_total: int
    chunks_written: int


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What a run did: file names, in order. Files in `skipped` keep their version in the index."""

    loaded: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[UnreadableDocument] = field(default_factory=list)
    empty: list[NothingToRead] = field(default_factory=list)  # sound files with nothing to read, no failures
    left_out: Counter[str] = field(default_factory=Counter)  # files of unknown type in the directories, by ending
    chunks_written: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A document ready to be written; `committed` tells whether the index has a complete older version."""

    id: str
    records: list[Record]
    committed: bool


def ingest(
    paths: Sequence[Path],
    *,
    kb_id: str,
    knowledge_base: KnowledgeBase,
    prune: bool,
    progress: Callable[[IngestProgress], None],
    root: str | None = None,
    base_url: str | None = None,
    chunking: ChunkSettings = DEFAULT_CHUNK_SETTINGS,
    confirm: Callable[[LoadEstimate], None] | None = None,
) -> IngestReport:
    """Load the files under `paths`; with `prune`, remove documents whose files are gone from the directories.

    The index is the only record of earlier runs, so the next run repairs what an interrupted one left. A document
    that was stored with other chunk settings is replaced. `root` is what the names of a directory's files begin
    with, instead of its own name, and `base_url` is the address at which a directory's files are published.
    `progress` is called after every request that writes. `confirm` is told before the first one what is to be loaded,
    for which every file is read once more; whatever it raises ends the run. Concurrent runs into one knowledge base are
    not supported. Raises InvalidInput for ambiguous names and KnowledgeBaseUnavailable; what was written until then
    stays.
    """
    scan = find_source_files(paths, root=root, base_url=base_url)
    plan = make_plan(scan.files, partial(knowledge_base.fetch, kb_id, timeout=_REQUEST_SECONDS), chunking)
    report = IngestReport(
        unchanged=[file.source_file_path for file in plan.unchanged],
        skipped=[*scan.unreadable, *plan.unreadable],
        left_out=scan.left_out,
    )
    if confirm is not None:
        confirm(estimate_load(version.records for version in _read_versions(plan, IngestReport(), chunking)))
    writer = _Writer(kb_id, knowledge_base, progress, files_total=len(plan.new) + len(plan.changed))
    for group in _group(_read_versions(plan, report, chunking)):
        writer.write(group)
    report.chunks_written = writer.chunks_written
    if prune:
        new = {file.source_file_path for file in plan.new}
        report.removed = _remove_deleted(scan.roots, kb_id, knowledge_base, new=new)
    return report


def remove_document(source_file_path: str, *, kb_id: str, knowledge_base: KnowledgeBase) -> int:
    """Remove one document and return the number of its chunks, 0 if there is none. Raises KnowledgeBaseUnavailable.

    Chunk 0 goes first: while it is missing, no run takes the document for complete, and the removal can be repeated.
    """
    document = document_id(source_file_path)
    stored = list(knowledge_base.list_ids(kb_id, prefix=f"{document}#", timeout=_REQUEST_SECONDS))
    mark = chunk_id(document, 0)
    for ids in ([i for i in stored if i == mark], [i for i in stored if i != mark]):
        knowledge_base.delete(kb_id, ids, timeout=_REQUEST_SECONDS)
    return len(stored)


def _remove_deleted(
    roots: Sequence[Root], kb_id: str, knowledge_base: KnowledgeBase, *, new: Collection[str]
) -> list[str]:
    def list_ids(prefix: str) -> Iterator[str]:
        return knowledge_base.list_ids(kb_id, prefix=prefix, timeout=_REQUEST_SECONDS)

    fetch = partial(knowledge_base.fetch, kb_id, timeout=_REQUEST_SECONDS)
    deleted = find_deleted(roots, list_ids, fetch, new=new)
    knowledge_base.delete(kb_id, [i for ids in deleted.values() for i in ids], timeout=_REQUEST_SECONDS)
    return sorted(deleted)


def _read_versions(plan: Plan, report: IngestReport, chunking: ChunkSettings) -> Iterator[_Version]:
    """Read one file at a time, so that memory holds a group of documents instead of all of them."""
    for files, names, committed in ((plan.new, report.loaded, False), (plan.changed, report.replaced, True)):
        for file in files:
            try:
                records = _read_records(file, chunking)
            except NothingToRead as note:
                report.empty.append(note)
                continue
            except UnreadableDocument as problem:
                report.skipped.append(problem)
                continue
            names.append(file.source_file_path)
            yield _Version(id=document_id(file.source_file_path), records=records, committed=committed)


def _read_records(file: SourceFile, chunking: ChunkSettings) -> list[Record]:
    data = file.read()
    document = read_document_safely(file.source_file_path, data, source_url=file.source_url)
    version = content_hash(file, data, chunking)
    return [_make_record(document, chunk, version) for chunk in chunk_document(document, chunking)]


def _make_record(document: Document, chunk: Chunk, version: str) -> Record:
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
    )


def _group(versions: Iterator[_Version]) -> Iterator[list[_Version]]:
    group: list[_Version] = []
    for version in versions:
        group.append(version)
        if sum(len(member.records) for member in group) >= _RECORDS_PER_GROUP:
            yield group
            group = []
    if group:
        yield group


class _Writer:
    """Writes versions of documents and reports the progress."""

    def __init__(
        self,
        kb_id: str,
        knowledge_base: KnowledgeBase,
        progress: Callable[[IngestProgress], None],
        *,
        files_total: int,
    ) -> None:
        self._kb_id = kb_id
        self._knowledge_base = knowledge_base
        self._progress = progress
        self._files_total = files_total
        self._files_done = 0.0
        self.chunks_written = 0

    def write(self, group: Sequence[_Version]) -> None:
        """Replace the documents of a group so that the next run detects an interruption at any point.

        Chunk 0 with the hash of the new version marks the version as complete. It is deleted first and written last:
        while it is missing, the next run rewrites the document. The old mark must not stay during the write: a file
        that is changed back after an interrupted run would count as unchanged, although it has chunks of the other
        version. Chunks that only the old version had are deleted before the mark is written, because nothing looks
        for them later.
        """
        self._delete([chunk_id(version.id, 0) for version in group if version.committed])
        surplus = [stored_id for version in group for stored_id in self._find_surplus(version)]
        self._upsert(group, [record for version in group for record in version.records[1:]])
        self._delete(surplus)
        self._upsert(group, [version.records[0] for version in group])

    def _find_surplus(self, version: _Version) -> Iterator[str]:
        new_ids = {record.id for record in version.records}
        stored_ids = self._knowledge_base.list_ids(self._kb_id, prefix=f"{version.id}#", timeout=_REQUEST_SECONDS)
        return (stored_id for stored_id in stored_ids if stored_id not in new_ids)

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            self._knowledge_base.delete(self._kb_id, ids, timeout=_REQUEST_SECONDS)

    def _upsert(self, group: Sequence[_Version], records: Sequence[Record]) -> None:
        total = sum(len(version.records) for version in group)
        for start in range(0, len(records), _RECORDS_PER_REPORT):
            batch = records[start : start + _RECORDS_PER_REPORT]
            self._knowledge_base.upsert(self._kb_id, batch, timeout=_REQUEST_SECONDS)
            self.chunks_written += len(batch)
            self._files_done += len(group) * len(batch) / total
            self._progress(
                IngestProgress(
                    files_done=self._files_done,
                    files_total=self._files_total,
                    chunks_written=self.chunks_written,
                )
            )
