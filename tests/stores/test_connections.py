"""Connections that are kept: when one is used again, and when not; over TLS, as in the cloud."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gleaner.stores import dynamodb
from gleaner.stores._connections import Connections


class Service(ThreadingHTTPServer):
    """Counts connections. Answers with an empty object, and closes the connection afterwards if `closes`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections: list[object] = []
        self.closes: str | None = None
        self.ended = threading.Semaphore(0)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.ended.release()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.request)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "2")
        if self.server.closes == "and says so":
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"{}")
        self.close_connection = self.server.closes is not None

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running(service: Service) -> Iterator[Service]:
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


def connections(service: Service, *, max_idle: int = 5) -> Connections:
    return Connections("127.0.0.1", service.port, context=None, connect_seconds=60, read_seconds=60, max_idle=max_idle)


def post(kept: Connections) -> bytes:
    return kept.exchange(kept.take(), b"{}", {}).body


def test_a_connection_is_used_again(service: Service) -> None:
    kept = connections(service)
    assert [post(kept) for _ in range(3)] == [b"{}"] * 3
    assert len(service.connections) == 1


@pytest.mark.parametrize("closes", ["and says so", "silently"])
def test_a_connection_that_the_service_closed_is_replaced(service: Service, closes: str) -> None:
    kept = connections(service)
    service.closes = closes
    for number in range(1, 4):
        assert post(kept) == b"{}"
        assert len(service.connections) == number
        assert service.ended.acquire(timeout=60)


def test_each_exchange_has_a_connection_of_its_own(service: Service) -> None:
    kept = connections(service)
    first, second = kept.take(), kept.take()
    assert first is not second
    assert kept.exchange(first, b"{}", {}).body == kept.exchange(second, b"{}", {}).body == b"{}"
    assert {kept.take(), kept.take()} == {first, second}


def test_no_more_connections_are_kept_than_wanted(service: Service) -> None:
    kept = connections(service, max_idle=1)
    first, second = kept.take(), kept.take()
    kept.exchange(first, b"{}", {})
    kept.exchange(second, b"{}", {})
    assert kept.take() is first
    assert kept.take() is not second


def test_after_a_failure_no_connection_is_used_again(service: Service) -> None:
    kept = connections(service)
    first, second, broken = (kept.take() for _ in range(3))
    kept.exchange(first, b"{}", {})
    kept.exchange(second, b"{}", {})
    broken.sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises((OSError, HTTPException)):
        kept.exchange(broken, b"{}", {})
    assert kept.take() not in (first, second)


def test_a_refusal_before_the_end_of_a_request_is_read() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n{}"
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def refuse() -> None:
            accepted, _ = listener.accept()
            accepted.recv(1)
            accepted.sendall(refusal)
            accepted.shutdown(socket.SHUT_RD)
            time.sleep(0.5)
            accepted.close()

        refused = pool.submit(refuse)
        kept = Connections(
            "127.0.0.1", listener.getsockname()[1], context=None, connect_seconds=60, read_seconds=60, max_idle=5
        )
        response = kept.exchange(kept.take(), b"x" * 50_000_000, {})
        refused.result(60)
    assert (response.status_code, response.body) == (413, b"{}")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate of 127.0.0.1 that it signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now.replace(year=2099))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "certificate.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


def test_tls_needs_a_certificate_that_is_trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    service.socket = context.wrap_socket(service.socket, server_side=True)
    session = boto3.Session("key-id", "secret", region_name="eu-central-1")
    with running(service):
        url = f"https://127.0.0.1:{service.port}"
        with pytest.raises(SSLError):
            dynamodb.connect(endpoint_url=url, session=session).get_item(TableName="t", Key={"pk": {"S": "1"}})
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        client = dynamodb.connect(endpoint_url=url, session=session)
        seen = len(service.connections)
        for _ in range(2):
            assert "Item" not in client.get_item(TableName="t", Key={"pk": {"S": "1"}})
        assert len(service.connections) == seen + 1
