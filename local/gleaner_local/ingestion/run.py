"""Synchronizes a knowledge base with files: replaces changed documents and leaves unchanged ones alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gleaner.clients.document_chunks import remove_document
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.document_files import document_id
from gleaner.model import Record
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS, ChunkSettings
from gleaner_documents.loading.records import make_records
from gleaner_documents.loading.writing import REQUEST_SECONDS, IngestProgress, Version, Writer
from gleaner_documents.model import NothingToRead, UnclearRights, UnreadableDocument
from gleaner_documents.plan import Plan, find_deleted, make_plan
from gleaner_documents.reading_process import read_document_safely
from gleaner_documents.source_files import Root, SourceFile, find_source_files
from gleaner_local.ingestion.estimate import LoadEstimate, estimate_load

# Small documents are written together, as each request costs a round trip.
_RECORDS_PER_GROUP = 96


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What a run did: file names, in order.

    Files in `skipped` keep their version in the index, unless it is not clear any more whom they are for.
    """

    loaded: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[UnreadableDocument] = field(default_factory=list)
    empty: list[NothingToRead] = field(default_factory=list)  # sound files with nothing to read, no failures
    left_out: Counter[str] = field(default_factory=Counter)  # files of unknown type in the directories, by ending
    chunks_written: int = 0


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
    with, instead of its own name, and `base_url` is the address at which a directory's files are published. Documents
    are removed last, so that a refused run does not lose a file that was renamed, but first if the index is full.
    `progress` is called after every request that writes. `confirm` is told before the first one what is to be loaded,
    for which every file is read once more; whatever it raises ends the run. Concurrent runs into one knowledge base are
    not supported. Raises InvalidInput for ambiguous names and KnowledgeBaseUnavailable; what was written until then
    stays.
    """
    scan = find_source_files(paths, root=root, base_url=base_url)
    plan = make_plan(scan.files, partial(knowledge_base.fetch, kb_id, timeout=REQUEST_SECONDS), chunking)
    report = IngestReport(
        unchanged=[file.source_file_path for file in plan.unchanged],
        skipped=[*scan.unreadable, *plan.unreadable],
        left_out=scan.left_out,
    )
    if confirm is not None:
        confirm(estimate_load(version.records for version in _read_versions(plan, IngestReport(), chunking)))
    new = {file.source_file_path for file in plan.new}

    def remove_deleted() -> bool:
        if prune and not report.removed:
            report.removed = _remove_deleted(scan.roots, kb_id, knowledge_base, new=new)
            return bool(report.removed)
        return False

    files_total = len(plan.new) + len(plan.changed)
    writer = Writer(kb_id, knowledge_base, progress, files_total=files_total, make_room=remove_deleted)
    for group in _group(_read_versions(plan, report, chunking)):
        writer.write(group)
    report.chunks_written = writer.chunks_written
    remove_deleted()
    report.removed += _remove_unclear(report.skipped, kb_id, knowledge_base)
    return report


def _remove_unclear(skipped: Sequence[UnreadableDocument], kb_id: str, knowledge_base: KnowledgeBase) -> list[str]:
    """Remove the earlier versions of documents of which it is not clear any more whom they are for; returns these."""
    return [
        problem.source_file_path
        for problem in skipped
        if isinstance(problem, UnclearRights)
        and remove_document(
            document_id(problem.source_file_path),
            kb_id=kb_id,
            knowledge_base=knowledge_base,
            timeout=lambda: REQUEST_SECONDS,
        )
    ]


def _remove_deleted(
    roots: Sequence[Root], kb_id: str, knowledge_base: KnowledgeBase, *, new: Collection[str]
) -> list[str]:
    def list_ids(prefix: str) -> Iterator[str]:
        return knowledge_base.list_ids(kb_id, prefix=prefix, timeout=REQUEST_SECONDS)

    fetch = partial(knowledge_base.fetch, kb_id, timeout=REQUEST_SECONDS)
    deleted = find_deleted(roots, list_ids, fetch, new=new)
    knowledge_base.delete(kb_id, [i for ids in deleted.values() for i in ids], timeout=REQUEST_SECONDS)
    return sorted(deleted)


def _read_versions(plan: Plan, report: IngestReport, chunking: ChunkSettings) -> Iterator[Version]:
    """Read one file at a time, so that memory holds a group of documents instead of all of them."""
    for files, names, marked in ((plan.new, report.loaded, False), (plan.changed, report.replaced, True)):
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
            yield Version(id=document_id(file.source_file_path), records=records, marked=marked)


def _read_records(file: SourceFile, chunking: ChunkSettings) -> list[Record]:
    return make_records(
        file.source_file_path,
        file.read(),
        read=read_document_safely,
        chunking=chunking,
        source_url=file.source_url,
        sidecar=file.read_groups(),
    )


def _group(versions: Iterator[Version]) -> Iterator[list[Version]]:
    group: list[Version] = []
    for version in versions:
        group.append(version)
        if sum(len(member.records) for member in group) >= _RECORDS_PER_GROUP:
            yield group
            group = []
    if group:
        yield group
