"""The log of a function's process: a file that, like CloudWatch for Lambda, never fails what writes to it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any


def log_output(path: str) -> None:
    """Append standard output and standard error of this process to the file at `path`, as long as it can be written.

    The first time that it cannot, as on a full disk, one line on the former standard error says so.
    """
    terminal = os.dup(sys.stderr.fileno())
    raw = _RawLog(path, terminal)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(raw.fileno(), stream.fileno())  # for output of libraries that are not written in Python
    sys.stdout = sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


class _RawLog(io.RawIOBase):
    def __init__(self, path: str, terminal: int) -> None:
        self._path = path
        self._terminal = terminal
        self._has_failed = False
        try:
            self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        except OSError as error:
            self._file = os.open(os.devnull, os.O_WRONLY)
            self._report(error)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file

    def write(self, data: Any, /) -> int:
        """Write all bytes of `data`, a buffer, or drop the rest of them."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._report(error)
        return size

    def _report(self, error: OSError) -> None:
        if self._has_failed:
            return
        self._has_failed = True
        line = f"The log {self._path} cannot be written: {error.strerror}. The function runs without it.\n"
        with suppress(OSError):  # nobody reads the terminal any more
            os.write(self._terminal, line.encode())
