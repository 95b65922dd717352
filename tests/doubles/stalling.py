"""A service that takes a connection and never comes to the end of its answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stalling(*, drips: bool) -> Iterator[str]:
    """The URL of one that says nothing, or that sends a byte of an endless header now and then."""
    stopped = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if drips:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not stopped.wait(0.05):
                if drips:
                    connection.sendall(b"x")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        stopped.set()
        listening.shutdown(socket.SHUT_RDWR)  # lets the waiting accept end
