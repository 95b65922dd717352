"""Loads what the messages of the queue hint at, and says in logs and metrics what became of it."""

from __future__ import annotations

import logging

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from gleaner.clients.document_queue import DocumentQueue
from gleaner.errors import LoadingPaused
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner_documents.loading.hints import NotAHint, read_hint
from gleaner_documents.loading.object_loading import Loading, ObjectLoader
from gleaner_documents.loading.object_names import NotADocument, ObjectName, read_key

logger = logging.getLogger(__name__)

_MAX_SHOWN = 200  # characters of a key or a message in the log
_METRICS = {
    DocumentState.LOADED: "DocumentsLoaded",
    DocumentState.SKIPPED: "DocumentsSkipped",
    DocumentState.FAILED: "DocumentsFailed",
}
_NOT_RETRIED = "DocumentsNotRetried"  # somebody has to act first


class Ingestion:
    """Does what messages hint at. A message that can never be useful is logged and counts as done."""

    def __init__(self, loader: ObjectLoader, queue: DocumentQueue, bucket: str, metrics: Metrics) -> None:
        self._loader = loader
        self._queue = queue
        self._bucket = bucket
        self._metrics = metrics

    def take(self, body: str, *, deadline: Deadline) -> None:
        """Load the document that a message hints at, or leave it to a message of its own that comes later.

        Such a message has all of its tries before it: neither limits of the index nor a long document use them up.
        Every error that is raised is a failure, after which the message is to be delivered again.
        """
        name = self._read(body)
        if name is None:
            return
        facts: dict[str, object] = {"kb_id": name.kb_id, "document": name.source_file_path}
        try:
            loading = self._loader.load(name, deadline=deadline)
        except LoadingPaused as pause:
            self._queue.send(self._bucket, name.key, delay_seconds=pause.seconds)
            logger.info("goes on later", extra=facts | {"reason": str(pause), "wait_seconds": round(pause.seconds)})
        except Exception:
            self._metrics.add_metric(_METRICS[DocumentState.FAILED], MetricUnit.Count, 1)
            logger.exception("a document could not be loaded", extra=facts)
            raise
        else:
            self._tell(loading, facts)

    def _read(self, body: str) -> ObjectName | None:
        try:
            hint = read_hint(body)
            if hint.bucket != self._bucket:
                raise NotAHint("The message is about another bucket.")  # noqa: TRY301
            return read_key(hint.key)
        except (NotAHint, NotADocument) as problem:
            logger.warning("a message was ignored", extra={"reason": str(problem), "body": ascii(body)[:_MAX_SHOWN]})
            return None

    def _tell(self, loading: Loading, facts: dict[str, object]) -> None:
        outcome = loading.outcome
        if loading.chunks_written:
            self._metrics.add_metric("ChunksWritten", MetricUnit.Count, loading.chunks_written)
        if outcome is None:
            logger.info("nothing to load", extra=facts)
            return
        self._metrics.add_metric(_METRICS[outcome.state], MetricUnit.Count, 1)
        if outcome.state is DocumentState.FAILED:  # no message leads to it any more
            self._metrics.add_metric(_NOT_RETRIED, MetricUnit.Count, 1)
        more = {"state": outcome.state.value, "reason": outcome.reason, "chunks_written": loading.chunks_written}
        logger.info("a document", extra=facts | more)
