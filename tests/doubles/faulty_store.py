"""A proxy in front of DynamoDB that fails the calls that a test chooses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

How = Literal["throttled", "conflict", "error", "page", "down", "lost", "hangs"]

_WRITES = frozenset(
    ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "BatchExecuteStatement"]
)
# docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
_THROTTLED = {
    "reason": "TableWriteKeyRangeThroughputExceeded",
    "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/t",
}
_TYPE = "com.amazonaws.dynamodb.v20120810#"


@dataclass(frozen=True, slots=True)
class StoreCall:
    """One request: its operation, its tables, and the number of actions of a transaction."""

    operation: str
    tables: frozenset[str]
    actions: int

    @property
    def is_write(self) -> bool:
        return self.operation in _WRITES


Choose = Callable[[StoreCall, int], bool]


class FaultyStore:
    """Chosen calls fail before they reach DynamoDB; with `lost` they reach it, and only the answer is lost.

    With `hangs` there is no answer, until the store stops.
    """

    def __init__(self, target: str) -> None:
        """`target` is the URL of DynamoDB. Until `start`, connections are refused."""
        self._target = urlsplit(target)
        self._lock = threading.Lock()
        self.is_stopped = threading.Event()
        self._how: How = "error"
        self._choose: Choose = lambda *_: False
        self.calls: list[StoreCall] = []
        self.fault_count = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self), bind_and_activate=False)
        self._server.daemon_threads = True
        self._server.server_bind()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> None:
        self._server.server_activate()
        self._thread.start()

    def stop(self) -> None:
        self.is_stopped.set()
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

    def fails(self, how: How, choose: Choose) -> None:
        """Fail the calls that `choose` picks; it gets each call and its number among the writes, or 0."""
        with self._lock:
            self._how, self._choose, self.calls, self.fault_count = how, choose, [], 0

    def heals(self) -> None:
        self.fails("error", lambda *_: False)

    def pick_fault(self, call: StoreCall) -> How | None:
        with self._lock:
            self.calls.append(call)
            number = sum(one.is_write for one in self.calls) if call.is_write else 0
            if not self._choose(call, number):
                return None
            self.fault_count += 1
            return self._how

    def forward(self, headers: Any, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(str(self._target.hostname), self._target.port, timeout=30)
        try:
            forwarded = {name: value for name, value in headers.items() if name.lower() not in ("connection", "host")}
            connection.request("POST", "/", body=body, headers=forwarded)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _handler(store: FaultyStore) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            call = _call_of(self.headers["X-Amz-Target"], json.loads(body))
            fault = store.pick_fault(call)
            if fault is None:
                self._answer(*store.forward(self.headers, body))
            elif fault in ("down", "lost", "hangs"):
                if fault == "hangs":
                    store.is_stopped.wait()
                if fault == "lost":
                    store.forward(self.headers, body)
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self._answer(*_error_response(fault, call))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    return Handler


def _call_of(target: str, body: Any) -> StoreCall:
    operation = target.rpartition(".")[2]
    actions = [inner for action in body.get("TransactItems", ()) for inner in action.values()]
    tables = {action["TableName"] for action in actions} | set(body.get("RequestItems", ()))
    texts = [
        statement["Statement"] for statement in (*body.get("Statements", ()), *([body] if "Statement" in body else ()))
    ]
    tables |= {text.split('"', 2)[1] for text in texts}  # the first name in quotation marks
    if "TableName" in body:
        tables.add(body["TableName"])
    return StoreCall(operation, frozenset(tables), len(actions))


def _error_response(how: How, call: StoreCall) -> tuple[int, bytes]:
    if how == "page":
        return 503, b"<html>no healthy upstream</html>"
    if how == "error":
        return 500, _error_body("InternalServerError")
    if how == "throttled":
        return 400, _error_body("ThrottlingException", throttlingReasons=[_THROTTLED])
    if call.operation == "TransactWriteItems":
        reasons = [{"Code": "TransactionConflict"}, *({"Code": "None"} for _ in range(call.actions - 1))]
        return 400, _error_body("TransactionCanceledException", CancellationReasons=reasons)
    return 400, _error_body("TransactionConflictException")


def _error_body(code: str, **more: Any) -> bytes:
    return json.dumps({"__type": f"{_TYPE}{code}", "message": "secret inner text"} | more).encode()
