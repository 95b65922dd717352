"""Brings the bucket of a deployed environment up to date with files on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote

from gleaner.clients.object_store import ObjectFacts, ObjectStore
from gleaner.document_files import document_id
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.documents import DocumentStore
from gleaner_documents.groups import document_beside, read_sidecar, sidecar_of
from gleaner_documents.loading.object_names import SOURCE_URL, make_key
from gleaner_documents.plan import find_gone
from gleaner_documents.source_files import Root, SourceFile
from gleaner_local.ingestion.hint_queue import HintQueue

# Metadata of an object. A listing tells no hash: an ETag is none where a key of KMS encrypts, or for parts.
_SHA256, _GROUPS = "sha256", "groups"
_MAX_METADATA_BYTES = 2_048  # names and values (docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html)
STORE_SECONDS = 20.0  # for a request to the table, with its retries
_ENDED = (DocumentState.LOADED, DocumentState.SKIPPED, DocumentState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the documents of a knowledge base are kept in a deployed environment."""

    kb_id: str
    objects: ObjectStore
    states: DocumentStore
    queue: HintQueue

    def key_of(self, source_file_path: str) -> str:
        """The key of the object of a document."""
        return f"{self.kb_id}/{source_file_path}"

    def find(self, source_file_path: str) -> DocumentEntry | None:
        """What is known of a document."""
        deadline = Deadline.after(STORE_SECONDS)
        return self.states.find(self.kb_id, document_id(source_file_path), deadline=deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """A document that the function is to load or, with the `version` None, to remove.

    `outdated` is when the state last changed that does not count, and `groups` are those of the sidecar, if it has one.
    """

    source_file_path: str
    version: str | None
    outdated: str | None = None
    groups: frozenset[str] | None = None
    is_new: bool = False  # the bucket did not have it before

    @property
    def document_id(self) -> str:
        """The id of the document."""
        return document_id(self.source_file_path)

    def is_settled(self, entry: DocumentEntry | None) -> bool:
        """Whether this state is what is awaited. It may be an older one: the read is not consistent."""
        if self.version is None:
            return entry is None
        if entry is None or entry.state not in _ENDED or entry.updated_at == self.outdated:
            return False
        if entry.state is DocumentState.FAILED:  # its version is the one that the index held before
            return True
        has_groups = self.groups is None or entry.state is not DocumentState.LOADED or entry.groups == self.groups
        return entry.version == self.version and has_groups

    def is_overtaken(self, entry: DocumentEntry | None) -> bool:
        """Whether another version was loaded: an older one that just ended, or one that somebody else put there."""
        return entry is not None and entry.state in _ENDED and entry.version != self.version


class Sent(NamedTuple):
    """What is awaited of a file, or the state that it is in already."""

    awaited: Awaited
    settled: DocumentEntry | None = None


def send_file(place: Place, file: SourceFile) -> Sent:
    """Put a file and its sidecar into the bucket if they differ from what is there. Raises UnreadableDocument.

    Nothing is put there of a file whose sidecar cannot be read: the file would be loaded for all callers. The sidecar
    goes first, so that a restricted file is never there without it.
    """
    name = file.source_file_path
    key, data, sidecar = make_key(place.kb_id, name), file.read(), file.read_sidecar()
    groups = None if sidecar is None else frozenset(read_sidecar(name, sidecar))
    has_new_groups = sidecar is not None and _send_sidecar(place, sidecar_of(name), sidecar)
    before = place.objects.head(key)
    metadata = _make_metadata(file, data, before)
    if before is None or dict(before.metadata) != metadata:
        known = place.find(name)
        version = place.objects.put(key, data, metadata=metadata)
        return Sent(
            Awaited(
                source_file_path=name,
                version=version,
                outdated=known.updated_at if known else None,
                groups=groups,
                is_new=before is None,
            )
        )
    entry = place.find(name)
    awaited = Awaited(source_file_path=name, version=before.version, groups=groups)
    if entry and not has_new_groups and entry.state is not DocumentState.FAILED and awaited.is_settled(entry):
        return Sent(awaited, entry)
    place.queue.send([key])  # it failed, its event was lost, or only its sidecar is new
    return Sent(replace(awaited, outdated=entry.updated_at if entry else None))


class Gone(NamedTuple):
    """Names of objects whose files are gone: documents, and sidecars of documents that stay or are gone, too."""

    documents: list[str]
    sidecars: list[str]


def find_gone_objects(place: Place, roots: Iterable[Root], *, new: Collection[str]) -> Gone:
    """The objects under the names of `roots` whose files are no longer on disk; `new` were put there by this run.

    Raises AnotherDirectory if that would be all that was there before.
    """
    gone = Gone([], [])
    for root in roots:
        prefix = place.key_of(root.prefix)
        names = [root.prefix + facts.key.removeprefix(prefix) for facts in place.objects.list(prefix)]
        gone.documents.extend(find_gone(root, [name for name in names if document_beside(name) is None], new=new))
        gone.sidecars.extend(root.find_missing(name for name in names if document_beside(name) is not None))
    return gone


def delete_objects(place: Place, gone: Gone) -> list[Awaited]:
    """Delete these objects; returns what is awaited of the documents, those that only lose their sidecar included.

    A sidecar goes after its document, which would else be loaded for all callers in between.
    """
    awaited = [Awaited(source_file_path=name, version=None) for name in gone.documents]
    for name in gone.documents:
        place.objects.delete(place.key_of(name))
    for name in gone.sidecars:
        document = document_beside(name)
        entry = place.find(document) if document and document not in gone.documents else None
        place.objects.delete(place.key_of(name))
        if entry is not None and entry.version is not None:
            place.queue.send([place.key_of(entry.source_file_path)])
            awaited.append(
                Awaited(source_file_path=entry.source_file_path, version=entry.version, outdated=entry.updated_at)
            )
    return awaited


def _make_metadata(file: SourceFile, data: bytes, before: ObjectFacts | None) -> dict[str, str]:
    """The metadata of the object, in the place of what is there `before`. An address that does not fit is left out."""
    metadata = {_SHA256: _hash(data)}
    if before is not None and _GROUPS in before.metadata:  # of an upload by the API: they must not be lost
        metadata[_GROUPS] = before.metadata[_GROUPS]
    addressed = metadata | ({SOURCE_URL: _to_ascii(file.source_url)} if file.source_url else {})
    is_small = sum(len(field) + len(value) for field, value in addressed.items()) <= _MAX_METADATA_BYTES
    return addressed if is_small else metadata


def _send_sidecar(place: Place, name: str, data: bytes) -> bool:
    key, metadata = make_key(place.kb_id, name), {_SHA256: _hash(data)}
    before = place.objects.head(key)
    if before is not None and dict(before.metadata) == metadata:
        return False
    place.objects.put(key, data, metadata=metadata)
    return True


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _to_ascii(url: str) -> str:
    """An address as metadata, which takes ASCII only: what is no ASCII is percent-encoded, as in requests."""
    return quote(url, safe=":/?#[]@!$&'()*+,;=%")
