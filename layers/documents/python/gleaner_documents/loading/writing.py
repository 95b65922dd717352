"""Writes versions of documents into a knowledge base, so that a refused or broken run loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gleaner.clients.document_chunks import list_chunks
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import KnowledgeBaseFull
from gleaner.model import Record

# Timeout of one request; the slowest is a batch that the embedded index embeds on a slow machine.
REQUEST_SECONDS = 120.0
# Records sent between two progress reports: about half a second of work for the embedded index. With at most 40 KB for
# each they are one request, which the index takes or refuses as a whole.
_RECORDS_PER_REQUEST = 32
# In the place of a content hash, which is hexadecimal: no file has this version, so the next run writes the document.
UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far a run has come. A file counts by the share of its chunks that are written."""

    files_done: float
    files_total: int
    chunks_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A document ready to be written; `marked` tells whether the index has a chunk 0 of an older version.

    Of the chunks after the first, those below `written` were stored before an earlier try was interrupted.
    `earlier_chunks` is how many chunks the index may hold, whatever it lists: a listing may lag behind.
    """

    id: str
    records: list[Record]
    marked: bool
    written: int = 1
    earlier_chunks: int = 0


class Writer:
    """Writes versions of documents and reports the progress."""

    def __init__(
        self,
        kb_id: str,
        knowledge_base: KnowledgeBase,
        progress: Callable[[IngestProgress], None],
        *,
        files_total: int,
        make_room: Callable[[], bool],
        request_seconds: float = REQUEST_SECONDS,
        batch_records: int | None = None,
    ) -> None:
        """`make_room` is called when the index is full, and returns whether it removed anything.

        `batch_records` are sent between two progress reports, by default as many as are one request.
        """
        self._kb_id = kb_id
        self._knowledge_base = knowledge_base
        self._progress = progress
        self._files_total = files_total
        self._make_room = make_room
        self._seconds = request_seconds
        self._batch_records = batch_records or _RECORDS_PER_REQUEST
        self._files_done = 0.0
        self.chunks_written = 0

    def write(self, group: Sequence[Version]) -> None:
        """Replace the documents of a group so that the next run detects an interruption at any point.

        Chunk 0 with the hash of the new version marks the version as complete. The old mark must not stay beside other
        chunks of the new version: a file that is changed back after an interrupted run would count as unchanged. Nor
        may it be removed before the index has taken anything of the new version: a limit that refuses the first request
        would leave nothing of the old one. So the first request that has chunks of a document replaces its mark:

        - A document that one request holds, and of which no older chunks remain, is written by that request.
        - Another one gets a chunk 0 that marks it as unfinished with its first chunks, or none if it had none. Then
          chunks that only the old version had are deleted, because nothing looks for them later, and then the mark is
          written.
        """
        surplus = {version.id: list(self._find_surplus(version)) for version in group}
        parts = [_divide(version, has_surplus=bool(surplus[version.id])) for version in group]
        files_per_chunk = len(group) / sum(len(version.records) for version in group)
        self._upsert([part.first for part in parts], files_per_chunk)
        self._delete([stored_id for ids in surplus.values() for stored_id in ids])
        self._upsert([[part.mark] for part in parts if part.mark], files_per_chunk)

    def _find_surplus(self, version: Version) -> Iterator[str]:
        new_ids = {record.id for record in version.records}
        stored_ids = list_chunks(
            version.id,
            kb_id=self._kb_id,
            knowledge_base=self._knowledge_base,
            known_chunks=version.earlier_chunks,
            timeout=self._seconds,
        )
        return (stored_id for stored_id in stored_ids if stored_id not in new_ids)

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            self._knowledge_base.delete(self._kb_id, ids, timeout=self._seconds)

    def _upsert(self, documents: Sequence[Sequence[Record]], files_per_chunk: float) -> None:
        for batch in _fill_requests(documents, self._batch_records):
            self._send(batch)
            written = sum(record.content_hash != UNFINISHED for record in batch)
            self.chunks_written += written
            self._files_done += written * files_per_chunk
            self._progress(
                IngestProgress(
                    files_done=self._files_done,
                    files_total=self._files_total,
                    chunks_written=self.chunks_written,
                )
            )

    def _send(self, batch: Sequence[Record]) -> None:
        try:
            self._knowledge_base.upsert(self._kb_id, batch, timeout=self._seconds)
        except KnowledgeBaseFull:
            if not self._make_room():
                raise
            self._knowledge_base.upsert(self._kb_id, batch, timeout=self._seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What is written `first` of a version, and the `mark` that is written last; None if it is among the first."""

    first: list[Record]
    mark: Record | None


def _divide(version: Version, *, has_surplus: bool) -> _Parts:
    mark, *others = version.records
    if len(version.records) <= _RECORDS_PER_REQUEST and not has_surplus:
        return _Parts(first=version.records, mark=None)
    others = [record for record in others if record.chunk_index >= version.written]
    if version.marked:
        others.insert(0, replace(mark, content_hash=UNFINISHED))
    return _Parts(first=others, mark=mark)


def _fill_requests(documents: Sequence[Sequence[Record]], size: int) -> Iterator[list[Record]]:
    """Divide records into requests of `size`, in order; what fits into one request is not divided."""
    batch: list[Record] = []
    for records in documents:
        if batch and len(batch) + min(len(records), size) > size:
            yield batch
            batch = []
        for record in records:
            batch.append(record)
            if len(batch) == size:
                yield batch
                batch = []
    if batch:
        yield batch
