"""Brings a knowledge base in step with files: what changed is replaced, what is unchanged is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.model import Record
from gleaner_documents.chunking import Chunk, chunk_document
from gleaner_documents.model import Document, UnreadableDocument
from gleaner_documents.plan import (
    Plan,
    content_hash,
    document_id,
    find_gone,
    make_plan,
    record_id,
)
from gleaner_documents.reading import read_document
from gleaner_documents.source_files import SourceFile, find_source_files

# Seconds for one request; a batch that the embedded index embeds on a slow machine is the longest.
_REQUEST_SECONDS = 120.0
# Small documents are written together, since a request costs a round trip however little it carries.
_RECORDS_AT_ONCE = 96
# Records sent between two reports of progress: about half a second of the embedded index's work.
_RECORDS_PER_REPORT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far a run is. A file counts by the share of its chunks that are written."""

    files_done: float
    files_total: int
    chunks_written: int


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What a run did: names of files, in order. Files in `skipped` keep the version that the index has."""

    loaded: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[UnreadableDocument] = field(default_factory=list)
    ignored: int = 0  # files in directories that are of no known type
    chunks_written: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A document ready to be written; `committed` tells whether the index has a finished older one."""

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
) -> IngestReport:
    """Load the files under `paths`; with `prune`, remove documents whose files are gone from the directories.

    There is no record of earlier runs but the index itself, so an interrupted run is mended by the next one.
    `root` is what the names of a directory's files begin with, instead of its own name. `progress` is called
    after every request that writes. Two runs into one knowledge base at the same time are not supported. Raises
    InvalidInput for paths that cannot be told apart and KnowledgeBaseUnavailable; what was written until then stays.
    """
    found = find_source_files(paths, root=root)
    fetch = partial(knowledge_base.fetch, kb_id, timeout=_REQUEST_SECONDS)
    plan = make_plan(found.files, fetch)
    report = IngestReport(
        unchanged=[file.source_file_path for file in plan.unchanged],
        skipped=[*found.unreadable, *plan.unreadable],
        ignored=found.ignored,
    )
    writer = _Writer(kb_id, knowledge_base, progress, files_total=len(plan.new) + len(plan.changed))
    for group in _groups(_versions(plan, report)):
        writer.write(group)
    report.chunks_written = writer.chunks_written
    if prune:

        def list_ids(prefix: str) -> Iterator[str]:
            return knowledge_base.list_ids(kb_id, prefix=prefix, timeout=_REQUEST_SECONDS)

        new = {file.source_file_path for file in plan.new}
        gone = find_gone(found.roots, list_ids, fetch, new=new)
        knowledge_base.delete(kb_id, [i for ids in gone.values() for i in ids], timeout=_REQUEST_SECONDS)
        report.removed = sorted(gone)
    return report


def _versions(plan: Plan, report: IngestReport) -> Iterator[_Version]:
    """Reads one file at a time, so that memory holds a group of documents and not all of them."""
    for files, done, committed in ((plan.new, report.loaded, False), (plan.changed, report.replaced, True)):
        for file in files:
            try:
                records = _records(file)
            except UnreadableDocument as problem:
                report.skipped.append(problem)
                continue
            done.append(file.source_file_path)
            yield _Version(id=document_id(file.source_file_path), records=records, committed=committed)


def _records(file: SourceFile) -> list[Record]:
    data = file.read()
    document = read_document(file.source_file_path, data)
    version = content_hash(data)
    return [_record(document, chunk, version) for chunk in chunk_document(document)]


def _record(document: Document, chunk: Chunk, version: str) -> Record:
    # Only the text is searched, and a section often names its topic in the heading alone.
    heading = f"# {chunk.chapter}\n\n" if chunk.chapter else ""
    return Record(
        id=record_id(document_id(document.source_file_path), chunk.index),
        text=heading + chunk.text,
        title=document.title,
        chapter=chunk.chapter,
        source_file_path=document.source_file_path,
        page_number=chunk.page_number,
        chunk_index=chunk.index,
        content_hash=version,
    )


def _groups(versions: Iterator[_Version]) -> Iterator[list[_Version]]:
    group: list[_Version] = []
    for version in versions:
        group.append(version)
        if sum(len(member.records) for member in group) >= _RECORDS_AT_ONCE:
            yield group
            group = []
    if group:
        yield group


class _Writer:
    """Writes versions of documents and reports how far it is."""

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
        """Replace the documents of a group, so that an interruption at any point is seen by the next run.

        Chunk 0 with the hash of the new version is the mark that the version is complete. It goes first and
        comes last: while it is missing, the next run writes the document anew. Leaving the old mark in place
        would not do: a file that is changed back after an interrupted run would then pass as unchanged, with
        chunks of the other version behind its mark. Chunks that only the old version had are deleted before
        the mark is set, since nothing looks for them afterwards.
        """
        self._delete([record_id(version.id, 0) for version in group if version.committed])
        surplus = [listed for version in group for listed in self._surplus(version)]
        self._upsert(group, [record for version in group for record in version.records[1:]])
        self._delete(surplus)
        self._upsert(group, [version.records[0] for version in group])

    def _surplus(self, version: _Version) -> Iterator[str]:
        kept = {record.id for record in version.records}
        stored = self._knowledge_base.list_ids(self._kb_id, prefix=f"{version.id}#", timeout=_REQUEST_SECONDS)
        return (listed for listed in stored if listed not in kept)

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
