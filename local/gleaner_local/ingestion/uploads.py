"""Takes documents that the page sends, one file a request, loads them as `gleaner ingest` does, and removes them."""

from __future__ import annotations

import errno
import logging
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.document_files import MAX_FILE_BYTES, document_id
from gleaner.errors import InvalidInput, KnowledgeBaseUnavailable
from gleaner.knowledge.removal import remove_document
from gleaner.model import KB_ID_PATTERN, JsonObject
from gleaner_documents.loading.waiting import Waiting
from gleaner_documents.loading.writing import REQUEST_SECONDS, IngestProgress
from gleaner_local.ingestion.run import IngestReport, ingest

ROOT = "uploads"  # what the names of the documents begin with, as those of a directory that was ingested
_MAX_WAIT_SECONDS = (
    90.0  # for an index that takes no more: longer than the minute of its limits; a browser waits for it
)
MAX_NAME_BYTES = 255  # of a file name on the usual file systems
_CONTENT_TYPE = "application/octet-stream"  # pages of other sites cannot send it unasked
_FULL = (errno.ENOSPC, errno.EDQUOT)

logger = logging.getLogger(__name__)


class Uploads:
    """Loads files into the knowledge base of a running service. They are not kept: the index records what is loaded."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._default_kb_id = ""
        self._knowledge_base: KnowledgeBase | None = None
        self._in_work: set[tuple[str, str]] = set()  # knowledge bases and documents
        self._changed = threading.Condition()

    def open(self, knowledge_base: KnowledgeBase, default_kb_id: str) -> None:
        """Take files for this index from now on."""
        self._knowledge_base = knowledge_base
        self._default_kb_id = default_kb_id

    async def answer(self, request: Request) -> Response:
        """Load a document, or remove it: `POST` or `DELETE ?name=…&kb_id=…`. What fails is a problem document."""
        name = request.query_params.get("name", "")
        kb_id = request.query_params.get("kb_id") or self._default_kb_id
        if (objection := _find_objection(name, kb_id)) is not None:
            return _problem(400, "validation-failed", objection)
        try:
            return await (self._take(request, name, kb_id) if request.method == "POST" else self._remove(name, kb_id))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except KnowledgeBaseUnavailable as error:
            return _problem(503, "knowledge-base-unavailable", str(error))
        except InvalidInput as error:
            return _problem(400, "validation-failed", str(error))
        except OSError as error:
            return _tell_failure(error)

    async def _take(self, request: Request, name: str, kb_id: str) -> Response:
        """Load the body and tell what became of it.

        The answer has the `outcome` (loaded, replaced, unchanged, empty or skipped), the `reason` for the last two, the
        `source_file_path` and the `chunk_count`.
        """
        if request.headers.get("content-type") != _CONTENT_TYPE:
            return _problem(415, "unsupported-media-type", f"Send the file as {_CONTENT_TYPE}.")
        with TemporaryDirectory(dir=self._data_dir, prefix="upload-") as place:
            path = Path(place, ROOT, name)
            path.parent.mkdir()
            await _receive(request, path)
            return JSONResponse(await run_in_threadpool(self._load, path, kb_id))

    async def _remove(self, name: str, kb_id: str) -> Response:
        if await run_in_threadpool(self._forget, f"{ROOT}/{name}", kb_id):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return _problem(404, "unknown-document", f"The knowledge base holds no document {ROOT}/{name}.")

    def _forget(self, source_file_path: str, kb_id: str) -> int:
        with self._claim(source_file_path, kb_id):
            document = document_id(source_file_path)
            return remove_document(document, kb_id=kb_id, knowledge_base=self._index(), timeout=lambda: REQUEST_SECONDS)

    @contextmanager
    def _claim(self, source_file_path: str, kb_id: str) -> Iterator[float]:
        """Have a document alone, and yield the seconds that are left to wait for the index.

        A run of one document touches no other one, so they need not wait for each other. Raises
        KnowledgeBaseUnavailable if another request has the document for too long.
        """
        claimed, started = (kb_id, source_file_path), time.monotonic()
        with self._changed:
            if not self._changed.wait_for(lambda: claimed not in self._in_work, timeout=_MAX_WAIT_SECONDS):
                raise KnowledgeBaseUnavailable("This document is still being loaded. Try again in a minute.")
            self._in_work.add(claimed)
        try:
            yield max(0.0, _MAX_WAIT_SECONDS - (time.monotonic() - started))
        finally:
            with self._changed:
                self._in_work.remove(claimed)
                self._changed.notify_all()

    def _index(self) -> KnowledgeBase:
        if self._knowledge_base is None:
            raise KnowledgeBaseUnavailable("The service is starting. Try again in a moment.")
        return self._knowledge_base

    def _load(self, path: Path, kb_id: str) -> JsonObject:
        with self._claim(f"{ROOT}/{path.name}", kb_id) as seconds:
            knowledge_base = self._index().patient(Waiting(say=_log_wait, max_seconds=seconds))
            report = ingest([path], kb_id=kb_id, knowledge_base=knowledge_base, prune=False, progress=_say_nothing)
        outcome, reason = _outcome_of(report)
        return {
            "outcome": outcome,
            "reason": reason,
            "source_file_path": f"{ROOT}/{path.name}",
            "chunk_count": report.chunks_written,
        }


def _say_nothing(_progress: IngestProgress) -> None:
    """Nobody watches within a file: the page shows one file after the other."""


def _log_wait(seconds: float) -> None:
    logger.info("waiting %.0f s: the index takes no more for now", seconds)


def _outcome_of(report: IngestReport) -> tuple[str, str | None]:
    """What became of the one file of a run, and the reason if it was not loaded."""
    if report.skipped:
        return "skipped", report.skipped[0].reason
    if report.empty:
        return "empty", report.empty[0].reason
    return ("loaded" if report.loaded else "replaced" if report.replaced else "unchanged"), None


def _find_objection(name: str, kb_id: str) -> str | None:
    """What is wrong with the name of a file in a directory, whatever the directory, or with the knowledge base."""
    if "/" in name or not name:
        return "Name the file, without a directory."
    if name.startswith("."):
        return "The name begins with a dot, as those of hidden files do. Rename the file."
    if not name.isprintable():
        return "The name has a line break or another character that cannot be shown. Rename the file."
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return f"The name is longer than {MAX_NAME_BYTES} bytes. Rename the file."
    return None if re.fullmatch(KB_ID_PATTERN, kb_id) else "kb_id is not the name of a knowledge base."


async def _receive(request: Request, path: Path) -> None:
    """Write the body to a file. What is too large is read no further: the ingestion refuses it by its size."""
    size = 0
    with path.open("wb") as file:
        async for part in request.stream():
            file.write(part)
            if (size := size + len(part)) > MAX_FILE_BYTES:
                return


def _tell_failure(error: OSError) -> Response:
    logger.error("A document could not be loaded: %s", error)
    if error.errno in _FULL:
        return _problem(507, "insufficient-storage", "The disk of this machine is full. Make room on it.")
    return _problem(503, "service-unavailable", f"This machine failed: {error.strerror or error}.")


def _problem(status: int, slug: str, detail: str) -> Response:
    problem = {"type": f"urn:gleaner:problem:{slug}", "status": status, "detail": detail}
    return JSONResponse(problem, status, media_type="application/problem+json")
