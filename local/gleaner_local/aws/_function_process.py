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
        try:
            pipe.send((ANSWER, integration_response.handle(function, event, context, _Sender(pipe).send)))
        except Exception as error:  # noqa: BLE001 - as in Lambda, the error is the result of the invocation
            pipe.send((FAILED, f"{type(error).__name__}: {error}"))


class _Sender:
    """Sends the chunks of one response, each once the one before has reached the client's connection."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._is_read = True

    def send(self, chunk: bytes) -> None:
        if self._is_read:
            self._pipe.send((CHUNK, chunk))
            self._is_read = self._pipe.recv()
        if not self._is_read:
            raise ClientGone
