"""A bucket, a table and an index for tests of loading, with requests that a test can count, use or end a process at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from pinecone import Index

from gleaner.clients.object_store import ObjectStore
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.clients.pinecone_hits import LenientIndex
from gleaner.document_files import document_id
from gleaner.model import Record
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.document_leases import DocumentLeases
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS
from gleaner_documents.loading.object_loading import Loading, ObjectLoader
from gleaner_documents.loading.object_names import read_key
from gleaner_documents.loading.records import ReadDocument, make_records
from gleaner_documents.reading import read_document
from gleaner_local.aws import ministack


class Clock:
    """A clock that tests and waits turn."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Killed(BaseException):
    """Ends a process, as the end of a function does: nothing handles it."""


class Bench:
    """One bucket, one table and a namespace of an index. `before_request` is called before each request to any."""

    def __init__(self, url: str, table: str, index_url: str, *, read: ReadDocument = read_document) -> None:
        self.kb_id = f"kb-{uuid4().hex[:12]}"
        self.clock = Clock()
        self.before_request: Callable[[str], None] = lambda _operation: None
        self._index = LenientIndex(host=index_url, api_key="any", repeats=False)
        session = ministack.session()
        dynamodb = ministack.table_client(url)
        s3 = self.s3 = session.client("s3", endpoint_url=url)
        self.bucket = f"b-{uuid4().hex[:12]}"
        s3.create_bucket(Bucket=self.bucket)
        self.objects = ObjectStore(s3, self.bucket)
        self.leases = DocumentLeases(Table(dynamodb, table), clock=self.clock)
        self.store = DocumentStore(Table(dynamodb, table), clock=self.clock)
        self.kb = KnowledgeBase(lambda: self._index)
        self.read = read
        for client in (dynamodb, s3):
            client.meta.events.register("before-call", self._announce)

    def loader(self, **options: Any) -> ObjectLoader:
        return ObjectLoader(
            self.objects,
            self.leases,
            KnowledgeBase(self._next_index),
            **({"read": self.read, "batch_records": 3, "clock": self.clock, "sleep": self.clock.sleep} | options),
        )

    def _next_index(self) -> Index:
        self.before_request("index")
        return self._index

    def _announce(self, model: Any, **_: Any) -> None:
        self.before_request(model.name)

    def put(self, path: str, body: bytes, **options: Any) -> None:
        with self.unseen():
            self.objects.put(f"{self.kb_id}/{path}", body, **options)

    def delete(self, path: str) -> None:
        with self.unseen():
            self.objects.delete(f"{self.kb_id}/{path}")

    def remove_bucket(self) -> None:
        with self.unseen():
            self.s3.delete_bucket(Bucket=self.bucket)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Send requests of somebody else."""
        before, self.before_request = self.before_request, lambda _operation: None
        try:
            yield
        finally:
            self.before_request = before

    def load(self, path: str, *, seconds: float = 900.0, **options: Any) -> Loading:
        return self.loader(**options).load(read_key(f"{self.kb_id}/{path}"), deadline=Deadline.after(seconds))

    def entry(self, path: str) -> DocumentEntry | None:
        with self.unseen():
            return self.store.find(self.kb_id, document_id(path), deadline=Deadline.after(20))

    def stored(self, path: str) -> dict[str, Record]:
        """The chunks of a document in the index, by their ids."""
        ids = list(self.kb.list_ids(self.kb_id, prefix=f"{document_id(path)}#", timeout=20))
        return self.kb.fetch(self.kb_id, ids, timeout=20)

    def fingerprint(self, path: str) -> dict[str, tuple[str, str]]:
        return {key: (record.text, record.content_hash) for key, record in self.stored(path).items()}


def fresh(path: str, body: bytes) -> dict[str, tuple[str, str]]:
    """What an index holds that never held another version."""
    records = make_records(path, body, read=read_document, chunking=DEFAULT_CHUNK_SETTINGS)
    return {record.id: (record.text, record.content_hash) for record in records}


def text(version: str, chunks: int) -> bytes:
    """A document of so many chunks."""
    sections = (f"## Part {number}\n\nVersion {version} says {number}. " for number in range(chunks))
    return "\n\n".join(sections).encode()
