"""Compares files with what is stored in the index: finds new, changed, unchanged and deleted files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gleaner.document_files import compose_name, document_id, slug_of
from gleaner.errors import InvalidInput
from gleaner.model import Record, chunk_id, document_of
from gleaner_documents.chunking import ChunkSettings
from gleaner_documents.model import UnreadableDocument
from gleaner_documents.source_files import Root, SourceFile

# Part of every content hash, beside the chunk settings. Raise it when the code of the readers, of chunking or of
# sentence splitting changes the chunks of a file: the next run of ingestion then replaces the stored documents.
CHUNKS_VERSION = 2
# Fewer missing documents than this are deleted without question: they are quickly loaded again.
MIN_SUSPICIOUS = 5

FetchRecords = Callable[[Sequence[str]], Mapping[str, Record]]  # returns stored records by id, without unknown ids
ListIds = Callable[[str], Iterable[str]]  # returns the ids of stored records that begin with a prefix


@dataclass(slots=True, kw_only=True)
class Plan:
    """What to do: `new` and `changed` files must be written; changed ones have a complete version in the index."""

    new: list[SourceFile] = field(default_factory=list)
    changed: list[SourceFile] = field(default_factory=list)
    unchanged: list[SourceFile] = field(default_factory=list)
    unreadable: list[UnreadableDocument] = field(default_factory=list)


def content_hash(
    data: bytes, settings: ChunkSettings, *, source_url: str | None = None, groups: Sequence[str] = ()
) -> str:
    """The version of a document: a hash of everything that its chunks depend on.

    `source_url` is where its file is published. `groups` are those that are named outside of `data`; without them the
    hash is that of earlier versions.
    """
    named = f"{CHUNKS_VERSION}/{json.dumps(sorted(groups))}" if groups else str(CHUNKS_VERSION)
    parts = (named, settings.fingerprint(), source_url or "", "")
    return hashlib.sha256(":".join(parts).encode() + data).hexdigest()


def make_plan(files: Iterable[SourceFile], fetch: FetchRecords, settings: ChunkSettings) -> Plan:
    """Read every file and compare its hash with that of its chunk 0 in the index. Raises what `fetch` raises."""
    plan = Plan()
    hashes: dict[str, tuple[SourceFile, str]] = {}
    for file in files:
        try:
            version = content_hash(file.read(), settings, source_url=file.source_url, groups=file.read_groups())
            hashes[chunk_id(document_id(file.source_file_path), 0)] = (file, version)
        except UnreadableDocument as problem:
            plan.unreadable.append(problem)
    first_chunks = fetch(list(hashes))
    for first_id, (file, current_hash) in hashes.items():
        first_chunk = first_chunks.get(first_id)
        if first_chunk is None:
            plan.new.append(file)
        elif first_chunk.content_hash == current_hash:
            plan.unchanged.append(file)
        else:
            plan.changed.append(file)
    return plan


class AnotherDirectory(InvalidInput):
    """The documents stored under a directory's name seem to come from another directory."""


def find_deleted(
    roots: Iterable[Root], list_ids: ListIds, fetch: FetchRecords, *, new: Collection[str]
) -> dict[str, list[str]]:
    """Find the record ids of files under `roots` that are no longer on disk, by file.

    `new` are the files that this run stored for the first time. Raises what the calls raise, and AnotherDirectory if
    none of the files stored earlier exists: directory names repeat, and a slip must not empty a knowledge base.
    """
    deleted: dict[str, list[str]] = {}
    for root in roots:
        documents: dict[str, list[str]] = {}
        for stored_id in list_ids(slug_of(root.name)):
            documents.setdefault(document_of(stored_id), []).append(stored_id)
        # An interrupted run may have left a document without chunk 0, but each chunk names its file.
        records = fetch([ids[0] for ids in documents.values()])
        in_root = [record for record in records.values() if record.source_file_path.startswith(root.prefix)]
        gone = frozenset(find_gone(root, [record.source_file_path for record in in_root], new=new))
        missing = [record for record in in_root if record.source_file_path in gone]
        for record in missing:
            deleted[record.source_file_path] = documents[document_of(record.id)]
    return deleted


def is_suspicious(root: Root, gone: Collection[str]) -> bool:
    """Whether so many documents are gone, all there were, that another directory seems to have taken the place of root.

    Earlier versions did not compose names, so a document may be gone only as another one has its file.
    """
    return len(gone) >= MIN_SUSPICIOUS and len(root.find_missing(map(compose_name, gone))) == len(gone)


def find_gone(root: Root, stored: Collection[str], *, new: Collection[str]) -> list[str]:
    """Those of the documents stored under `root` whose files are no longer on disk. `new` as for `find_deleted`.

    Raises AnotherDirectory as `find_deleted` does.
    """
    gone = root.find_missing(stored)
    missing = frozenset(gone)
    if all(name in missing or name in new for name in stored) and is_suspicious(root, gone):
        raise AnotherDirectory(
            f"None of the {len(gone)} documents stored earlier under {root.prefix} is in {root.path}. It seems "
            "to be another directory of the same name: name one of the two with --root. Nothing was removed."
        )
    return gone
