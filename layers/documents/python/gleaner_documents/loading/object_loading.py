"""Loads a document from the object store: the index then holds the object as it is now, or nothing if it is gone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from gleaner.clients.object_store import ObjectStore
from gleaner.clients.pinecone import MAX_UPSERT_RECORDS, KnowledgeBase
from gleaner.document_files import document_id
from gleaner.errors import (
    GleanerError,
    KnowledgeBaseBusy,
    KnowledgeBaseQuotaUsed,
    KnowledgeBaseTimedOut,
    LeaseLost,
    LoadingPaused,
)
from gleaner.model import DocumentState, new_id
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_leases import DocumentLeases, Lease, Outcome
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS, ChunkSettings
from gleaner_documents.loading._looking import MIN_SECONDS, Look
from gleaner_documents.loading.holding import LEASE_SECONDS, STORE_SECONDS, Holding
from gleaner_documents.loading.object_names import ObjectName
from gleaner_documents.loading.records import ReadDocument
from gleaner_documents.loading.waiting import Waiting

__all__ = ["MAX_ATTEMPTS", "MIN_SECONDS", "Loading", "ObjectLoader", "TooManyAttempts"]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 4  # holders that may end without a word, as of a file that kills them
_MAX_FAILURES = 3  # of one request, for another reason than limits
_BUSY_SECONDS = 60.0  # until a limit of a minute has passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """What became of a hint: the `outcome` of the document, None if its object is gone or another process has it."""

    outcome: Outcome | None = None
    chunks_written: int = 0


class TooManyAttempts(GleanerError):
    """Whoever began to load this document has ended without a word, time after time."""


class ObjectLoader:
    """Loads documents of one bucket, each under a lease: any number may work at once, and be killed at any time."""

    def __init__(
        self,
        objects: ObjectStore,
        leases: DocumentLeases,
        knowledge_base: KnowledgeBase,
        *,
        read: ReadDocument,
        chunking: ChunkSettings = DEFAULT_CHUNK_SETTINGS,
        batch_records: int = MAX_UPSERT_RECORDS,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`knowledge_base` is a client that sends no request again by itself; `clock` is the one of the leases."""
        self._objects = objects
        self._leases = leases
        self._knowledge_base = knowledge_base
        self._read = read
        self._chunking = chunking
        self._batch_records = batch_records
        self._clock = clock
        self._sleep = sleep

    def load(self, name: ObjectName, *, deadline: Deadline) -> Loading:
        """Have the index hold a document as its object is now; returns once the table says so, too.

        Raises LoadingPaused if it goes on later: because of limits of the index, or because the process has to end by
        `deadline`. Every other error is a failure, which the table notes, and which a later call may mend.
        """
        if deadline.remaining() < MIN_SECONDS:
            raise LoadingPaused("No time is left to begin with the document.", seconds=0.0)
        lease = self._leases.take(
            name.kb_id,
            document_id(name.source_file_path),
            source_file_path=name.source_file_path,
            holder=new_id(),
            seconds=LEASE_SECONDS,
            deadline=Deadline.after(STORE_SECONDS),
        )
        if lease is None:
            return Loading()
        holding = Holding(self._leases, lease, deadline, clock=self._clock)
        waiting = Waiting(say=_log_wait, deadline=deadline, max_failures=_MAX_FAILURES, sleep=self._sleep)
        look = Look(
            self._objects,
            self._knowledge_base.patient(waiting, holding.permit),
            holding,
            name,
            read=self._read,
            chunking=self._chunking,
            batch_records=self._batch_records,
        )
        try:
            return self._load_under(holding, look)
        except LeaseLost:  # whoever has it now looked at the object later
            return Loading(chunks_written=look.chunks_written)

    def _load_under(self, holding: Holding, look: Look) -> Loading:
        while True:
            outcome, failure = self._try(holding, look)
            rests = isinstance(failure, KnowledgeBaseTimedOut)
            if self._end(holding.lease, outcome, rests=rests):
                if failure is not None:
                    raise failure
                return Loading(outcome=outcome, chunks_written=look.chunks_written)

    def _try(self, holding: Holding, look: Look) -> tuple[Outcome | None, Exception | None]:
        """The outcome of one look, and the error if it is a failure that may pass."""
        try:
            if holding.lease.attempt > MAX_ATTEMPTS:
                raise TooManyAttempts(f"Loading it ended the function {MAX_ATTEMPTS} times.")  # noqa: TRY301
            return look.load(), None
        except LeaseLost:
            raise
        except LoadingPaused as pause:
            self._release(holding.lease, str(pause))
            raise
        except KnowledgeBaseBusy as busy:
            self._release(holding.lease, str(busy))
            raise LoadingPaused(str(busy), seconds=busy.retry_after or _BUSY_SECONDS) from busy
        except KnowledgeBaseQuotaUsed as used:  # a try every few minutes would not change it
            return _failed(holding.lease, str(used)), None
        except Exception as error:  # noqa: BLE001 - the edge of one document: the table says what became of it
            return _failed(holding.lease, _explain(error)), error

    def _release(self, lease: Lease, reason: str) -> None:
        self._leases.release(lease, reason, deadline=Deadline.after(STORE_SECONDS))

    def _end(self, lease: Lease, outcome: Outcome | None, *, rests: bool) -> bool:
        """Whether the document is done with; if not, its object has to be looked at once more."""
        deadline = Deadline.after(STORE_SECONDS)
        if outcome is None:
            return self._leases.remove(lease, deadline=deadline)
        return self._leases.finish(lease, outcome, deadline=deadline, rests=rests)


def _failed(lease: Lease, reason: str) -> Outcome:
    """A failure, with what is known of the version that the index held before."""
    entry = lease.entry
    return Outcome(
        state=DocumentState.FAILED,
        reason=reason,
        chunk_count=entry.chunk_count,
        size_bytes=entry.size_bytes,
        content_hash=entry.content_hash,
        version=entry.version,
        groups=entry.groups,
        upload_id=entry.upload_id,
    )


def _explain(error: Exception) -> str:
    """What people may read of an error: only our own ones say nothing of the text that was read, or of a request."""
    if isinstance(error, GleanerError):
        return str(error)
    return f"An error that nobody expected ({type(error).__name__}). The log of the function says more."


def _log_wait(seconds: float) -> None:
    logger.info("the index takes no more for now", extra={"wait_seconds": round(seconds, 1)})
