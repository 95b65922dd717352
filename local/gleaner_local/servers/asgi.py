"""Runs an ASGI application on a loopback port, in a thread of this process."""

from __future__ import annotations

import math
import resource
import socket
import threading
import time
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from gleaner_local.ports import HOST, new_socket
from gleaner_local.servers._idle_timeout import IdleTimeoutProtocol

START_SECONDS = 30.0
STOP_SECONDS = 5.0
IDLE_SECONDS = 30.0
_MIN_CONNECTIONS = 8
_MAX_BACKLOG = 2048


class AsgiServer:
    """One application on 127.0.0.1; port 0 picks a free port. Can be started and stopped only once."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int = 0,
        held: socket.socket | None = None,
        stop_seconds: float = STOP_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        max_connections: int | None = None,
    ) -> None:
        """`held` comes from hold_port() and takes the place of `port`; the server closes it.

        Requests that are still in flight `stop_seconds` after stop() are cut off.

        A connection is closed when no byte of a request arrives for `idle_seconds`. More than `max_connections` are
        refused, by default more than a quarter of the files that this process may open.
        """
        self._port = port
        self._is_bound = held is not None
        self._socket = held or new_socket()
        limit = _default_connections() if max_connections is None else max_connections
        self._backlog = min(_MAX_BACKLOG, limit)  # asyncio accepts as many at a time
        config = uvicorn.Config(
            app,
            http=partial(  # type: ignore[arg-type]
                IdleTimeoutProtocol,
                idle_seconds=idle_seconds,
                max_connections=limit,
            ),
            log_level="warning",
            access_log=False,
            ws="none",
            backlog=self._backlog,
            timeout_graceful_shutdown=math.ceil(stop_seconds),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="asgi-server", daemon=True
        )

    def start(self) -> None:
        """Start the server and wait until it accepts connections.

        Raises OSError if the port is taken, RuntimeError if the application does not start.
        """
        try:
            if not self._is_bound:
                self._socket.bind((HOST, self._port))
            self._socket.listen(self._backlog)  # fails if another program bound the same port and listens already
        except OSError:
            self._socket.close()
            raise
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("The local server did not start.")
            time.sleep(0.005)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`, without a trailing slash; available after start()."""
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"

    def is_up(self) -> bool:
        """Whether the server runs."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Finish the requests in flight and free the port."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()


def _default_connections() -> int:
    """A quarter of the files that this process may open: other servers and processes need theirs, too."""
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft_limit == resource.RLIM_INFINITY else max(_MIN_CONNECTIONS, soft_limit // 4)
