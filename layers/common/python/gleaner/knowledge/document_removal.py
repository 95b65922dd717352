"""Removes a document at the wish of an editor: its object, and where no object leads to it, its chunks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from gleaner.clients.document_chunks import remove_document
from gleaner.document_files import document_id as id_of
from gleaner.errors import DeadlineExceeded, LeaseLost, ServiceUnavailable
from gleaner.knowledge.known_documents import KnownDocuments, Viewer
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_leases import DocumentLeases
from gleaner.stores.documents import DocumentStore

if TYPE_CHECKING:  # the SDKs are loaded when they are used
    from gleaner.clients.object_store import ObjectStore
    from gleaner.clients.pinecone import KnowledgeBase

_LEASE_SECONDS = 300.0  # longer than any request to the API lasts, so that no write outlasts it
_MAX_REQUEST_SECONDS = 5.0
_MAX_RELEASE_SECONDS = 1.0  # the time of the request may be up
_MAX_KEY_BYTES = 1024  # of an object
_INTERRUPTED = "Its removal was interrupted. Remove it again."


class DocumentRemoval:
    """Removes documents. Methods raise StoreUnavailable, KnowledgeBaseUnavailable or DeadlineExceeded."""

    def __init__(
        self,
        known: KnownDocuments,
        store: DocumentStore,
        leases: DocumentLeases,
        connect: Callable[[], KnowledgeBase],
    ) -> None:
        """`connect` is called once, when chunks are removed."""
        self._known = known
        self._store = store
        self._leases = leases
        self._index = cache(connect)

    def remove(self, kb_id: str, document_id: str, viewer: Viewer, objects: ObjectStore, *, deadline: Deadline) -> bool:
        """Remove a document, and return whether all of it is gone already.

        Of an object that was looked at, the event of its deletion does the rest: whoever loads documents may be about
        to do so. Raises UnknownDocument, also for one that the viewer may not see, and ObjectStoreUnavailable.
        """
        document, _ = self._known.read(kb_id, document_id, viewer, start=0, limit=1, deadline=deadline)
        entry, path = document.entry, document.source_file_path
        self._store.withdraw_upload(kb_id, document_id, deadline=deadline)
        key = f"{kb_id}/{path}"
        if id_of(path) == document_id and len(key.encode()) <= _MAX_KEY_BYTES:  # other programs choose other ids
            objects.delete(key)
        if entry is not None and entry.version is not None:
            return False
        return self._remove_chunks(kb_id, document_id, path, deadline)

    def _remove_chunks(self, kb_id: str, document_id: str, path: str, deadline: Deadline) -> bool:
        lease = self._leases.take(
            kb_id, document_id, source_file_path=path, holder=new_id(), seconds=_LEASE_SECONDS, deadline=deadline
        )
        if lease is None:  # whoever loads it looks once more, and finds the object gone
            return False
        try:
            remove_document(
                document_id,
                kb_id=kb_id,
                knowledge_base=self._index(),
                timeout=lambda: deadline.timeout(_MAX_REQUEST_SECONDS),
            )
            while not self._leases.remove(lease, deadline=deadline):
                continue  # an event tells of the deletion, which is known
        except LeaseLost:  # to another holder, who finds the object gone
            return False
        except (ServiceUnavailable, DeadlineExceeded):
            self._leases.release(lease, _INTERRUPTED, deadline=Deadline.after(_MAX_RELEASE_SECONDS))
            raise
        return True
