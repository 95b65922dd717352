"""Reads files in a process of its own, so that no file can take the memory, the time or the life of its caller.

Parsers, some of them in C, meet files that nobody here made. One worker process reads file after file. It is started
when first needed and started again after a file that it did not survive. A file may take `MAX_SECONDS` and the worker
`MAX_MEMORY_BYTES` of address space.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from typing import Any

from gleaner_documents._messages import OUT_OF_MEMORY, receive, send
from gleaner_documents.model import Document, ReaderFailed, ReaderNotStarted, RefusedFile, Section, UnreadableDocument

MAX_SECONDS = 60.0
MAX_MEMORY_BYTES = 2 * 1024**3  # macOS does not enforce it
_WORKER_MODULE = "gleaner_documents.reading_worker"
# What Python needs to start, and no more: a parser that a file takes over finds no credentials. Lambda's Python finds
# its libraries by LD_LIBRARY_PATH.
_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")


class ReadingProcess:
    """Reads files in a worker process; thread-safe, one file at a time."""

    def __init__(self, *, max_seconds: float = MAX_SECONDS, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._max_seconds = max_seconds
        self._max_memory_bytes = max_memory_bytes
        self._worker: subprocess.Popen[bytes] | None = None
        self._is_ready = False  # whether the worker has started
        self._lock = threading.Lock()

    def read(self, source_file_path: str, data: bytes, *, source_url: str | None = None) -> Document:
        """Like `read_document`. Raises UnreadableDocument, which includes RefusedFile at a limit.

        Raises ReaderNotStarted or OSError if no worker starts, whatever the file.
        """
        with self._lock:
            worker = self._worker = self._worker or self._start()
            expired = threading.Event()
            watchdog = threading.Timer(self._max_seconds, _kill, (worker, expired))
            watchdog.daemon = True
            watchdog.start()
            try:
                if not self._is_ready:
                    _await_start(worker)
                    self._is_ready = True
                answer = _ask(worker, data, {"source_file_path": source_file_path, "source_url": source_url})
            except (OSError, EOFError, ValueError) as error:
                was_ready = self._is_ready
                self._stop()
                if not (was_ready or expired.is_set()):
                    raise ReaderNotStarted("The process that reads documents does not start.") from error
                raise self._explain_end(source_file_path, expired=expired.is_set()) from error
            except BaseException:  # Ctrl-C: its answer would be taken for that to the next file
                self._stop()
                raise
            finally:
                watchdog.cancel()
            if answer.get("error") == OUT_OF_MEMORY:
                self._stop()  # its memory is in pieces
                raise self._memory_error(source_file_path)
            return _document_of(source_file_path, answer)

    def stop(self) -> None:
        """End the worker; the next file starts another one."""
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this interpreter and this module
            [sys.executable, "-m", _WORKER_MODULE, str(self._max_memory_bytes), str(self._max_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _VARIABLES if name in os.environ}
            | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )

    def _stop(self) -> None:
        worker, self._worker, self._is_ready = self._worker, None, False
        if worker is None:
            return
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # closing writes what the dead worker did not take
                    continue

    def _explain_end(self, source_file_path: str, *, expired: bool) -> UnreadableDocument:
        if expired:
            return RefusedFile(source_file_path, f"takes longer than {self._max_seconds:g} seconds to read")
        return ReaderFailed(source_file_path, "makes its parser crash")

    def _memory_error(self, source_file_path: str) -> RefusedFile:
        limit = self._max_memory_bytes // 1024**2
        return RefusedFile(source_file_path, f"takes more than {limit:,} MB of memory to read")


_SHARED = ReadingProcess()
atexit.register(_SHARED.stop)


def read_document_safely(source_file_path: str, data: bytes, *, source_url: str | None = None) -> Document:
    """Like `read_document`, within limits, by the worker that all callers of this process share."""
    return _SHARED.read(source_file_path, data, source_url=source_url)


def stop_shared_process() -> None:
    """Give back the memory of the shared worker until the next file is read."""
    _SHARED.stop()


def _kill(worker: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    worker.kill()


def _await_start(worker: subprocess.Popen[bytes]) -> None:
    if worker.stdout is None:
        raise EOFError
    receive(worker.stdout)


def _ask(worker: subprocess.Popen[bytes], data: bytes, arguments: dict[str, str | None]) -> dict[str, Any]:
    if worker.stdin is None or worker.stdout is None:
        raise EOFError
    send(worker.stdin, json.dumps(arguments).encode())
    send(worker.stdin, data)
    answer: dict[str, Any] = json.loads(receive(worker.stdout))
    return answer


def _document_of(source_file_path: str, answer: dict[str, Any]) -> Document:
    if (kind := answer.get("error")) is not None:
        raise _ERRORS.get(kind, ReaderFailed)(source_file_path, answer["reason"])
    sections = tuple(Section(**section) for section in answer.pop("sections"))
    return Document(**answer | {"sections": sections, "groups": tuple(answer["groups"])})


def _subclasses(error: type[UnreadableDocument]) -> list[type[UnreadableDocument]]:
    return [error, *(below for subclass in error.__subclasses__() for below in _subclasses(subclass))]


_ERRORS = {error.__name__: error for error in _subclasses(UnreadableDocument)}
