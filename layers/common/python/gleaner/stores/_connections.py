"""Keeps connections to one HTTP/1.1 service, and exchanges one request and its response over one at a time."""

from __future__ import annotations

import http.client
import select
import ssl
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """A response that was read to its end; `status_code` and `headers` are what botocore reads of one."""

    status_code: int
    headers: http.client.HTTPMessage
    body: bytes


class Connections:
    """Connections to `host`, by TLS if there is a `context`. Thread-safe; any number may be open at a time."""

    def __init__(
        self,
        host: str,
        port: int | None,
        *,
        context: ssl.SSLContext | None,
        connect_seconds: float,
        read_seconds: float,
        max_idle: int,
    ) -> None:
        """`read_seconds` bounds each wait for bytes; `max_idle` connections are kept after their requests."""
        self._host, self._context = host, context
        self._port = port or (http.client.HTTP_PORT if context is None else http.client.HTTPS_PORT)
        self._connect_seconds, self._read_seconds = connect_seconds, read_seconds
        self._max_idle = max_idle
        self._idle: deque[http.client.HTTPConnection] = deque()
        weakref.finalize(self, _close_all, self._idle)

    def take(self) -> http.client.HTTPConnection:
        """A connection to exchange one request over: the one used last, or a new one. Raises OSError."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if not _is_dropped(connection):
                return connection
            connection.close()

    def exchange(self, connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str]) -> Response:
        """Post a request, and read the response. Raises OSError or HTTPException, and closes the connection then."""
        try:
            is_broken = _post(connection, body, headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            _close_all(self._idle)  # what one did not survive, such as a freeze, the others seldom do
            raise
        if is_broken or response.will_close or len(self._idle) >= self._max_idle:
            connection.close()
        else:
            self._idle.append(connection)
        return Response(response.status, response.headers, content)

    def _connect(self) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPConnection(self._host, self._port, timeout=self._connect_seconds)
            if self._context is None
            else http.client.HTTPSConnection(
                self._host, self._port, timeout=self._connect_seconds, context=self._context
            )
        )
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        connection.sock.settimeout(self._read_seconds)
        return connection


def _post(connection: http.client.HTTPConnection, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether the service closed the connection before it had the request, perhaps after a response that refuses it."""
    try:
        connection.request("POST", "/", body, headers)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def _close_all(idle: deque[http.client.HTTPConnection]) -> None:
    while idle:
        idle.pop().close()


def _is_dropped(connection: http.client.HTTPConnection) -> bool:
    """Whether the service closed an idle connection, or sent what nobody asked for."""
    events = select.poll()
    events.register(connection.sock, select.POLLIN)
    return bool(events.poll(0))
