"""The process of an execution environment: loads a handler, and handles what its parent sends until the pipe closes."""

from __future__ import annotations

import importlib
import os
import signal
from multiprocessing.connection import Connection

from gleaner.runtime import integration_response
from gleaner.runtime.response_stream import ClientGone
from gleaner_local.aws._function_log import log_output

# What the process sends: a kind and its value. The parent answers a chunk by whether anybody still reads the response.
READY, CHUNK, ANSWER, FAILED = "ready", "chunk", "answer", "failed"


def run(pipe: Connection, handler: str, env: dict[str, str], log_path: str) -> None:
    """Load the handler, then handle events until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its environments itself
    log_output(log_path)
    os.environ.clear()
    os.environ.update(env)
    module_name, function_name = handler.rsplit(".", 1)
    try:
        function = getattr(importlib.import_module(module_name), function_name)
    except Exception as error:  # noqa: BLE001 - the outermost level of this process
        pipe.send((FAILED, f"{type(error).__name__}: {error}"))
        return
    pipe.send((READY, None))
    while True:
        try:
            event, context = pipe.recv()
        except (EOFError, OSError):
            return
        sender = _Sender(pipe)
        try:
            answer = integration_response.handle(function, event, context, sender.send)
            sender.settle()
            pipe.send((ANSWER, answer))
        except Exception as error:  # noqa: BLE001 - as in Lambda, the error is the result of the invocation
            sender.settle()
            pipe.send((FAILED, f"{type(error).__name__}: {error}"))


class _Sender:
    """Sends the chunks of one response, each once the gateway has answered the one before."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._is_read = True
        self._is_due = False  # the answer to the last chunk

    def send(self, chunk: bytes) -> None:
        """Send a chunk. Raises ClientGone if nobody took the one before."""
        self.settle()
        if not self._is_read:
            raise ClientGone
        self._pipe.send((CHUNK, chunk))
        self._is_due = True

    def settle(self) -> None:
        """Wait for the answer to the last chunk. To wait before the next one wakes up nobody."""
        if self._is_due:
            self._is_due = False
            self._is_read = self._pipe.recv()
