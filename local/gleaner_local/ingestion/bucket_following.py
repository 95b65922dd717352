"""Keeps the bucket of this machine in step with what `gleaner ingest` did, so that its documents' states do not lie.

A document whose object is in the bucket is loaded again whenever that changes, and its state names the version. One
that only `gleaner ingest` loaded has no object: the index is its record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gleaner.clients.object_store import ObjectFacts, ObjectStore
from gleaner.groups import Groups, write_header
from gleaner.runtime.settings import read_index_host
from gleaner_documents.model import UnclearRights, UnreadableDocument
from gleaner_documents.source_files import find_source_files
from gleaner_local.ingestion.run import IngestReport
from gleaner_local.service.documents import LocalDocuments, connect_bucket
from gleaner_local.service.running import running_service


@contextmanager
def open_bucket(data_dir: Path, env: Mapping[str, str]) -> Iterator[ObjectStore | None]:
    """The bucket of the running service over `data_dir`, or the one on disk, if its documents are in the same index.

    The environment names the index, as for `open_index`. Without such a bucket this is None. Raises NotReady while the
    service starts or stops, OSError and sqlite3.Error.
    """
    service, host = running_service(data_dir), read_index_host(env)
    if service:
        url = service.get("documents_url") if host in (None, service["pinecone_index_host"]) else None
        yield connect_bucket(url) if url else None
        return
    directory = data_dir / "documents"
    if host is not None or not directory.is_dir():
        yield None
        return
    documents = LocalDocuments(directory, data_dir / "logs", {})
    try:
        yield documents.connect()
    finally:
        documents.stop()


def follow(paths: Sequence[Path], report: IngestReport, *, kb_id: str, root: str | None, bucket: ObjectStore) -> None:
    """Delete the objects of documents that a run removed, and replace those that it loaded in another version.

    A document is removed also if it is not clear any more whom it is for. Raises ObjectStoreUnavailable.
    """
    unclear = [problem.source_file_path for problem in report.skipped if isinstance(problem, UnclearRights)]
    for name in {*report.removed, *unclear}:
        bucket.delete(f"{kb_id}/{name}")
    loaded = {*report.loaded, *report.replaced, *report.unchanged}
    files = {one.source_file_path: one for one in find_source_files(paths, root=root).files}
    for folder in {name.split("/")[0] for name in loaded}:
        for facts in list(bucket.list(f"{kb_id}/{folder}/")):
            name = facts.key[len(kb_id) + 1 :]
            if name not in loaded or name not in files:
                continue
            try:
                data, groups = files[name].read(), files[name].read_groups()
            except UnreadableDocument:
                continue  # it changed since it was loaded; the next run says what is wrong
            if not _is_same(facts, data, groups, bucket):
                bucket.put(facts.key, data, metadata={"groups": write_header(groups)} if groups else None)


def _is_same(listed: ObjectFacts, data: bytes, groups: Groups, bucket: ObjectStore) -> bool:
    """Whether an object has this content and these groups. Groups of an upload stay where no sidecar names any."""
    if hashlib.md5(data, usedforsecurity=False).hexdigest() != listed.version:
        return False
    facts = bucket.head(listed.key) if groups else None  # a listing tells no metadata
    return facts is None or facts.metadata.get("groups") == write_header(groups)
