"""A server of one stream that a test writes byte by byte, over real connections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Write = Callable[[bytes], None]


class RawStream:
    """What happened at the server. `write_body` writes the body of each answer; it may raise to cut the connection."""

    def __init__(self, write_body: Callable[[Write], None], *, encoding: str | None = None) -> None:
        self.write_body = write_body
        self.encoding = encoding  # of the content
        self.clients: list[int] = []  # the port of the client's connection, one for each request
        self.reader_left = threading.Event()  # a write failed, since the client has closed its connection

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The base URL of the server within the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        state = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                state.clients.append(self.client_address[1])
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                if state.encoding:
                    self.send_header("content-encoding", state.encoding)
                self.end_headers()
                try:
                    state.write_body(self._write)
                    self.wfile.write(b"0\r\n\r\n")
                except ConnectionError:
                    state.reader_left.set()
                    self.close_connection = True
                except EOFError:
                    self.close_connection = True

            def _write(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        return Handler
