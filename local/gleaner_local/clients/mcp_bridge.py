"""Passes messages of the Model Context Protocol from standard input to the service and its responses back.

From basic/transports/stdio.mdx and streamable-http.mdx of the specification of 2026-07-28. Clients of earlier versions
shake hands once for the life of the process; the service keeps no session, so the bridge remembers their version.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import httpx

from gleaner.api.protocols.mcp.json_rpc import PARSE_ERROR
from gleaner.api.protocols.mcp.request_metadata import (
    METHOD_HEADER,
    NAME_HEADER,
    NAME_PARAMETERS,
    VERSION_HEADER,
    VERSION_KEY,
    encode,
)
from gleaner_local.clients.http_api import NOT_SERVED, PROBLEM_PREFIX, ApiClient, CallFailed, OutOfReach, json_object

PATH = "/mcp"
_INTERNAL_ERROR = -32603
_MAX_PARALLEL = 16  # messages that wait for the service; the next line is read when one is answered

JsonObject = dict[str, Any]


class Bridge:
    """One client's messages. Each is its own request, so that a quick one overtakes a question."""

    def __init__(
        self, connect: Callable[[], ApiClient], write: Callable[[str], None], report: Callable[[str], None]
    ) -> None:
        """`connect` raises CallFailed while no service runs; `write` sends a line, `report` tells the user."""
        self._connect = connect
        self._write = write
        self._report = report
        self._client: ApiClient | None = None
        self._version: str | None = None  # that the handshake agreed on
        self._running: set[str | int] = set()  # ids of requests without a response
        self._cancelled: set[str | int] = set()  # of them
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_MAX_PARALLEL)

    def run(self, lines: Iterable[bytes]) -> None:
        """Pass messages on until there are no more, and wait for their responses."""
        threads: list[threading.Thread] = []
        for line in lines:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                self._send(_error(None, PARSE_ERROR, "The line is not JSON."))
                continue
            if self._cancel(message):
                continue
            if (request_id := _id_of(message)) is not None:
                with self._lock:
                    self._running.add(request_id)
            self._places.acquire()
            thread = threading.Thread(target=self._pass_on, args=(line, message), daemon=True)  # Ctrl-C waits for none
            thread.start()
            threads = [*(one for one in threads if one.is_alive()), thread]
        for thread in threads:
            thread.join()

    def _cancel(self, message: Any) -> bool:
        """Whether the message cancels a request, whose response is then left out. The service keeps no requests."""
        if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
            return False
        params = message.get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            if isinstance(request_id, str | int) and request_id in self._running:
                self._cancelled.add(request_id)
        return True

    def _pass_on(self, line: bytes, message: Any) -> None:
        try:
            self._answer(line, message)
        except BrokenPipeError:
            self._report("The client reads no more.")
        finally:
            self._places.release()

    def _answer(self, line: bytes, message: Any) -> None:
        try:
            service, response = self._ask_service(line, self._headers(message))
        except CallFailed as failure:
            self._fail(message, str(failure))
            return
        if response.status_code == HTTPStatus.ACCEPTED:
            return
        answer = _read(response)
        if answer is None:
            self._fail(message, _refusal(service, response))
            return
        if isinstance(answer, dict):
            self._remember(message, answer)
            if answer.get("id") is None and isinstance(message, dict):
                answer["id"] = message.get("id")  # refused before it was read: only here it is known
        self._send(answer)

    def _ask_service(self, line: bytes, headers: dict[str, str]) -> tuple[ApiClient, httpx.Response]:
        """Send a message, to where the service runs now if it does not answer any more. Raises CallFailed."""
        service = self._open()
        try:
            return service, _send_to(service, line, headers)
        except OutOfReach:
            with self._lock:
                if self._client is service:
                    self._client = None
            moved = self._open()  # says how to start the service if it has stopped
            if moved.url == service.url:
                raise
            return moved, _send_to(moved, line, headers)

    def _open(self) -> ApiClient:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(meta, dict) or VERSION_KEY not in meta:
            return headers | ({VERSION_HEADER: self._version} if self._version else {})
        method = str(message.get("method"))
        repeated = {VERSION_HEADER: meta[VERSION_KEY], METHOD_HEADER: method}
        if (name := params.get(NAME_PARAMETERS.get(method, ""))) is not None:
            repeated[NAME_HEADER] = name
        return headers | {header: encode(str(value)) for header, value in repeated.items()}

    def _remember(self, message: Any, answer: JsonObject) -> None:
        if isinstance(message, dict) and message.get("method") == "initialize":
            self._version = (answer.get("result") or {}).get("protocolVersion")

    def _fail(self, message: Any, reason: str) -> None:
        self._report(reason)
        messages = message if isinstance(message, list) else [message]
        for one in messages:
            if isinstance(one, dict) and one.get("id") is not None and "method" in one:
                self._send(_error(one["id"], _INTERNAL_ERROR, reason))

    def _send(self, answer: JsonObject | list[Any]) -> None:
        request_id = _id_of(answer)
        with self._lock:
            if request_id is not None:
                self._running.discard(request_id)
                if request_id in self._cancelled:
                    self._cancelled.discard(request_id)
                    return
            self._write(json.dumps(answer, separators=(",", ":")))


def _id_of(message: Any) -> str | int | None:
    request_id = message.get("id") if isinstance(message, dict) else None
    return request_id if isinstance(request_id, str | int) else None


def _send_to(service: ApiClient, line: bytes, headers: dict[str, str]) -> httpx.Response:
    return service.send("POST", PATH, content=line, headers=headers | service.credentials.bearer_header())


def _refusal(service: ApiClient, response: httpx.Response) -> str:
    """Why a message has no response of the protocol: what the problem says, or that the address is wrong."""
    problem = json_object(response)
    kind, detail = str(problem.get("type")), problem.get("detail")
    is_refused = kind.startswith(PROBLEM_PREFIX) and kind not in NOT_SERVED and bool(detail)
    return str(detail) if is_refused else str(service.not_gleaner(response))


def _read(response: httpx.Response) -> JsonObject | list[Any] | None:
    """The response of the protocol; None if it is something else, such as a problem document."""
    try:
        answer = response.json()
    except ValueError:
        return None
    return answer if isinstance(answer, list) or (isinstance(answer, dict) and "jsonrpc" in answer) else None


def _error(request_id: Any, code: int, message: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
