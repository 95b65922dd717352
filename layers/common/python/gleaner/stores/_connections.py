"""Keeps connections to one HTTP/1.1 service, and exchanges one request and its response over one at a time."""

from __future__ import annotations

import http.client
import select
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

_POST_PATH = "/"


@dataclass(frozen=True, slots=True)
class Response:
    """A response that was read to its end."""

    status: int
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
        self._host, self._port, self._context = host, port, context
        self._connect_seconds, self._read_seconds = connect_seconds, read_seconds
        self._max_idle = max_idle
        self._idle: deque[http.client.HTTPConnection] = deque()

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
            connection.request("POST", _POST_PATH, body, headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or len(self._idle) >= self._max_idle:
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


def _is_dropped(connection: http.client.HTTPConnection) -> bool:
    """Whether the service closed an idle connection, or sent what nobody asked for."""
    events = select.poll()
    events.register(connection.sock, select.POLLIN)
    return bool(events.poll(0))
