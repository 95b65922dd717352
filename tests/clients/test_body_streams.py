"""A body that is read past the HTTP parser is the body that the parser would have read, whatever a server sends."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import httpcore2
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner.clients._body_streams import BodyStream

URL = "http://model.example/v1"
HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
]
CHUNKED = HEADS[0]


class Server(httpcore2.NetworkStream):
    """A connection on which pieces arrive, and then its end."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.is_closed = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """The next piece."""
        return self.pieces.pop(0) if self.pieces else b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Take a request."""

    def close(self) -> None:
        """Remember it."""
        self.is_closed = True

    def start_tls(self, *_: Any, **__: Any) -> httpcore2.NetworkStream:
        """The same, as if it were encrypted."""
        return Server(self.pieces)

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002
        """Whether something is there."""
        return True


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A body in chunks, as servers write it, with what only some write."""
    sizes = st.sampled_from([b"%x", b"%X", b"%04x", b"%x;name=value", b"%x ", b"%012x"])
    written = b""
    for chunk in draw(st.lists(st.binary(min_size=1, max_size=40), max_size=6)):
        size = draw(st.one_of(st.just(b"%x"), sizes))
        written += size % len(chunk) + b"\r\n" + chunk + b"\r\n"
    return written + draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nx-trailer: 1\r\n\r\n", b"000\r\n\r\n", b""]))


@st.composite
def responses(draw: st.DrawFn) -> list[bytes]:
    """A response in arbitrary pieces, perhaps with a fault in it, and perhaps with another one behind it."""
    head = draw(st.one_of(st.just(CHUNKED), st.sampled_from(HEADS)))
    written = head + draw(bodies()) + draw(st.sampled_from([b"", CHUNKED + b"1\r\nx\r\n0\r\n\r\n"]))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(written)))
        fault = draw(st.sampled_from([b"", b"\r\n", b"\n", b"\r", b"0", b"g", b"0\r\n\r\n"]))
        written = written[:at] + fault + written[at + draw(st.integers(0, 4)) :]
    cuts = sorted(draw(st.lists(st.integers(1, max(1, len(written) - 1)), max_size=12)))
    return [written[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(written)], strict=True) if begin < end]


def read(stream: httpcore2.NetworkStream) -> Iterator[object]:
    """Statuses and bodies of two requests on one connection, with what ended them."""
    connection = httpcore2.HTTP11Connection(httpcore2.Origin(b"http", b"model.example", 80), stream)
    for _ in range(2):
        body = b""
        try:
            response = connection.handle_request(httpcore2.Request("POST", URL, headers={"Host": "x"}, content=b""))
            yield response.status
            headers = {name.lower(): value.lower() for name, value in response.headers}
            is_chunked = headers.get(b"transfer-encoding") == b"chunked"
            if is_chunked and isinstance(stream, BodyStream):
                for chunk in stream.read_chunks(lambda _: 0.0, None):
                    body += chunk
            for chunk in response.stream:  # type: ignore[union-attr]
                body += chunk
            yield body
            response.close()
        except (httpcore2.ProtocolError, httpcore2.ConnectionNotAvailable) as error:
            yield body
            yield type(error)
        yield connection.is_idle()


@given(responses())
@example([CHUNKED + b"3\r\nabc0\r\n\r\n"])
@example([CHUNKED, b"3\r\nab", b"c\r", b"\n0\r\n\r\n"])
def test_the_body_is_the_one_that_the_parser_reads(pieces: list[bytes]) -> None:
    assert list(read(BodyStream(Server(list(pieces))))) == list(read(Server(list(pieces))))


def test_chunks_that_arrive_together_are_one_piece_and_the_parser_gets_only_the_end() -> None:
    stream = BodyStream(Server([CHUNKED + b"2\r\nab\r\n1\r\nc\r\n1", b"\r\nd\r\n0\r\n\r\n"]))
    stream.write(b"POST")
    assert stream.read(1000) == CHUNKED
    assert list(stream.read_chunks(lambda _: 0.0, None)) == [b"abc", b"d"]
    assert stream.read(1000) == b"0\r\n\r\n"


def test_an_encrypted_connection_is_read_in_the_same_way() -> None:
    stream = BodyStream(Server([])).start_tls(ssl.create_default_context())
    assert isinstance(stream, BodyStream)
    assert stream.get_extra_info("is_readable")
