"""A service that accepts connections and never completes a response."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stalling(*, drips: bool) -> Iterator[str]:
    """The URL of a service that sends nothing or, if it `drips`, now and then a byte of an endless header."""
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
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        stopped.set()
        listener.shutdown(socket.SHUT_RDWR)  # ends the pending accept
