"""Lambda's Runtime API on loopback, for one execution environment.

Sources: "Using the Lambda runtime API for custom runtimes" and "Building a custom runtime for AWS Lambda" in Lambda's
developer guide; for `restore`, "Using the Lambda runtime API" of the guide's chapter on SnapStart.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WAIT_SECONDS = 60.0  # a busy machine takes long to load an environment
_RUNTIME = "/2018-06-01/runtime"


@dataclass(slots=True)
class Invocation:
    """An event, and what the environment posts for it."""

    id: str
    event: Mapping[str, Any]
    kind: str = ""  # "response" or "error"
    headers: dict[str, str] = field(default_factory=dict)
    trailers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: queue.Queue[bytes | None] = field(default_factory=queue.Queue)  # as they arrive; None is the end
    ended: threading.Event = field(default_factory=threading.Event)

    def next_chunk(self) -> bytes | None:
        """The next chunk that was posted, once it is here; None at the end."""
        return self.chunks.get(timeout=WAIT_SECONDS)

    def wait(self) -> Invocation:
        """Wait until the response or the error was posted."""
        assert self.ended.wait(WAIT_SECONDS), "nothing was posted"
        return self


class RuntimeApi:
    """The API. Events are handed out in the order of `invoke`; the restore waits for `restore`."""

    def __init__(self) -> None:
        self.calls: list[str] = []  # paths in the order of arrival
        self.init_errors: queue.Queue[dict[str, Any]] = queue.Queue()
        self.cut_after: int | None = None  # the connection is cut after so many chunks of a response
        self._events: queue.Queue[Invocation] = queue.Queue()
        self._invocations: dict[str, Invocation] = {}
        self._restored = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        """The value of AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self._server.server_port}"

    def invoke(self, event: Mapping[str, Any]) -> Invocation:
        """Hand out an event."""
        invocation = Invocation(f"request-{len(self._invocations)}", event)
        self._invocations[invocation.id] = invocation
        self._events.put(invocation)
        return invocation

    def restore(self) -> None:
        """Restore the environment from its snapshot."""
        self._restored.set()

    def stop(self) -> None:
        """Free the port."""
        self._server.shutdown()
        self._server.server_close()

    def next_event(self) -> Invocation:
        """The next event, once there is one."""
        return self._events.get()

    def find(self, id: str) -> Invocation:
        """The invocation with this id."""
        return self._invocations[id]

    def wait_for_restore(self) -> None:
        """Return once the environment is restored."""
        self._restored.wait()


@contextmanager
def start_environment(
    script: Path, python: Path, function: Path, log: Path, variables: Mapping[str, str]
) -> Iterator[RuntimeApi]:
    """Start a function by the script of its exec wrapper, as Lambda does, and stop it at the end."""
    api = RuntimeApi()
    env = {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "LAMBDA_TASK_ROOT": str(function),
        "LAMBDA_RUNTIME_DIR": "/var/runtime",
        "_HANDLER": "handler.lambda_handler",
        "POWERTOOLS_METRICS_NAMESPACE": "Gleaner",
        "AWS_LAMBDA_FUNCTION_NAME": "query",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    }
    command = [script, python, "/var/runtime/bootstrap.py"]
    with (
        log.open("ab") as file,
        subprocess.Popen(command, env=env | variables, stdout=file, stderr=file, cwd=function) as process,
    ):
        try:
            yield api
        finally:
            process.kill()
    api.stop()


class _Handler(BaseHTTPRequestHandler):
    api: RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.api.calls.append(self.path)
        if self.path == f"{_RUNTIME}/restore/next":
            self.api.wait_for_restore()
            self._answer(200, b"")
            return
        assert self.path == f"{_RUNTIME}/invocation/next"
        invocation = self.api.next_event()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + 60) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:000000000000:function:query:live",
            "Content-Type": "application/json",
        }
        self._answer(200, json.dumps(invocation.event).encode(), headers)

    def do_POST(self) -> None:
        self.api.calls.append(self.path)
        if self.path == f"{_RUNTIME}/init/error":
            self.api.init_errors.put(json.loads(self._read_whole()))
            self._answer(202, b"")
            return
        _, id, kind = self.path.rsplit("/", 2)
        invocation = self.api.find(id)
        invocation.kind, invocation.headers = kind, {name.lower(): value for name, value in self.headers.items()}
        if invocation.headers.get("transfer-encoding") == "chunked":
            if not self._read_chunks(invocation):
                return
        else:
            invocation.body = self._read_whole()
        self._answer(202, b'{"status":"OK"}')
        invocation.ended.set()

    def _read_chunks(self, invocation: Invocation) -> bool:
        """Read the body and its trailers; False if the connection was cut."""
        while size := int(self.rfile.readline(), 16):
            invocation.body += (chunk := self.rfile.read(size))
            assert self.rfile.readline() == b"\r\n"
            invocation.chunks.put(chunk)
            if self.api.cut_after is not None and invocation.chunks.qsize() >= self.api.cut_after:
                self.close_connection = True
                return False
        while line := self.rfile.readline().strip().decode():
            name, _, value = line.partition(": ")
            invocation.trailers[name.lower()] = value
        invocation.chunks.put(None)
        return True

    def _read_whole(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
