"""Compares files with what the index holds of them: which are new, changed or unchanged, and which are gone."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gleaner.errors import InvalidInput
from gleaner.model import Record
from gleaner_documents.model import UnreadableDocument
from gleaner_documents.source_files import Root, SourceFile

# Part of every content hash: raise it when readers or chunker give other chunks for the same file.
CHUNKS_VERSION = 1
_SLUG_LENGTH = 60


FetchRecords = Callable[[Sequence[str]], Mapping[str, Record]]  # stored records by id; unknown ids are missing
ListIds = Callable[[str], Iterable[str]]  # ids of stored records that begin with a prefix


@dataclass(slots=True, kw_only=True)
class Plan:
    """`new` and `changed` files are to be written; the latter have a finished version in the index."""

    new: list[SourceFile] = field(default_factory=list)
    changed: list[SourceFile] = field(default_factory=list)
    unchanged: list[SourceFile] = field(default_factory=list)
    unreadable: list[UnreadableDocument] = field(default_factory=list)


def document_id(source_file_path: str) -> str:
    """A readable id of ASCII letters, digits and "-", of at most 71 characters, for a file's name.

    It begins with the slug of the root's name, so that a root's documents can be listed by prefix.
    """
    digest = hashlib.sha256(source_file_path.encode()).hexdigest()[:10]
    return f"{_slug(source_file_path)}-{digest}"


def record_id(document: str, chunk_index: int) -> str:
    """The id of a chunk's record. Chunk 0 is the mark that all the others of its version are in place."""
    return f"{document}#{chunk_index}"


def content_hash(data: bytes) -> str:
    """The version of a file: what its chunks are made of."""
    return hashlib.sha256(f"{CHUNKS_VERSION}:".encode() + data).hexdigest()


def make_plan(files: Iterable[SourceFile], fetch: FetchRecords) -> Plan:
    """Read every file, and compare its hash with that of its chunk 0 in the index. Raises what `fetch` raises."""
    plan = Plan()
    hashes: dict[str, tuple[SourceFile, str]] = {}
    for file in files:
        try:
            hashes[record_id(document_id(file.source_file_path), 0)] = (file, content_hash(file.read()))
        except UnreadableDocument as problem:
            plan.unreadable.append(problem)
    marks = fetch(list(hashes))
    for mark_id, (file, present) in hashes.items():
        mark = marks.get(mark_id)
        if mark is None:
            plan.new.append(file)
        elif mark.content_hash == present:
            plan.unchanged.append(file)
        else:
            plan.changed.append(file)
    return plan


_MANY = 5  # documents: fewer are soon loaded again


class AnotherDirectory(InvalidInput):
    """What is stored under a directory's name seems to come from another directory."""


def find_gone(
    roots: Iterable[Root], list_ids: ListIds, fetch: FetchRecords, *, new: Collection[str]
) -> dict[str, list[str]]:
    """Ids of the records of files that are no longer on disk, by file; only of files under `roots`.

    `new` are files that this run stored first. Raises what the calls raise, and AnotherDirectory when
    nothing of what was stored before is there: the names of directories repeat, and a slip must not empty a
    knowledge base.
    """
    gone: dict[str, list[str]] = {}
    for root in roots:
        documents: dict[str, list[str]] = {}
        for listed in list_ids(_slug(root.name)):
            documents.setdefault(listed.rpartition("#")[0], []).append(listed)
        # An interrupted run may have left a document without chunk 0: any of its chunks knows the file.
        records = fetch([ids[0] for ids in documents.values()])
        under = [record for record in records.values() if record.source_file_path.startswith(root.prefix)]
        missing = [record for record in under if not root.has(record.source_file_path)]
        if len(missing) >= _MANY and all(r in missing or r.source_file_path in new for r in under):
            raise AnotherDirectory(
                f"None of the {len(missing)} documents stored under {root.prefix} before is in {root.path}. It seems "
                "to be another directory of the same name: name one of the two with --root. Nothing was removed."
            )
        for record in missing:
            gone[record.source_file_path] = documents[record.id.rpartition("#")[0]]
    return gone


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_LENGTH].rstrip("-")
