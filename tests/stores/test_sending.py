"""What a client sends to DynamoDB, and how it reads the response, against botocore's own signer and parser."""

from __future__ import annotations

import base64
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.hooks import EventAliaser, HierarchicalEmitter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gleaner.stores import dynamodb
from gleaner.stores._sending import send_directly
from gleaner.stores.items import to_item
from gleaner_local.aws import ministack
from gleaner_local.servers.asgi import AsgiServer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY = {"pk": {"S": "ü"}, "sk": {"S": "1"}}


@dataclass
class Server:
    """Records requests and answers all of them alike."""

    url: str = ""
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        self.seen.append((dict(request.headers), await request.body()))
        return Response(self.body, self.status, self.headers, media_type="application/x-amz-json-1.0")


@pytest.fixture
def server() -> Iterator[Server]:
    service = Server()
    http = AsgiServer(Starlette(routes=[Route("/", service.answer, methods=["POST"])]))
    http.start()
    service.url = http.url
    yield service
    http.stop()


Connect = Callable[..., "DynamoDBClient"]


@pytest.fixture
def connect(server: Server) -> Connect:
    def open_client(token: str | None = None, url: str = "", **limits: Any) -> DynamoDBClient:
        session = boto3.Session("key-id", "wJalr/secret", token, region_name="eu-central-1")
        return dynamodb.connect(
            endpoint_url=url or server.url, session=session, config=dynamodb.LIMITS.merge(Config(**limits))
        )

    return open_client


@pytest.mark.parametrize("token", [None, "session/token=="])
def test_requests_are_signed_as_botocore_signs_them(connect: Connect, server: Server, token: str | None) -> None:
    connect(token).get_item(TableName="table", Key=KEY)
    [(headers, body)] = server.seen
    assert json.loads(body) == {"TableName": "table", "Key": KEY}
    assert headers.get("x-amz-security-token") == token
    signed = ("x-amz-target", *(["x-amz-security-token"] if token else []))
    request = AWSRequest("POST", server.url + "/", {name: headers[name] for name in signed}, body)
    request.headers["X-Amz-Date"] = request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(ReadOnlyCredentials("key-id", "wJalr/secret", token), "dynamodb", "eu-central-1")
    expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert headers["authorization"].endswith(f"Signature={expected}")
    assert f"Credential=key-id/{auth.scope(request).split('/', 1)[1]}," in headers["authorization"]


def test_bodies_are_written_as_botocore_writes_them(connect: Connect, server: Server) -> None:
    item = to_item({"pk": "ü", "b": b"\x00\xff", "B": {b"a", b"b"}, "n": 1.5, "m": {"l": [None, True, {"x"}]}})
    plain = boto3.Session("key-id", "secret", region_name="us-east-1").client("dynamodb", endpoint_url=server.url)
    for client in (plain, connect()):
        client.put_item(TableName="table", Item=item)
        client.batch_get_item(RequestItems={"table": {"Keys": [KEY], "ConsistentRead": True}})
        client.transact_write_items(
            TransactItems=[{"Put": {"TableName": "table", "Item": item}}], ClientRequestToken="token"
        )
        client.batch_execute_statement(Statements=[{"Statement": "INSERT ...", "Parameters": [item["b"]]}])
    bodies = [(headers["x-amz-target"], body) for headers, body in server.seen]
    assert bodies[:4] == bodies[4:]


def test_responses_are_read_as_botocore_reads_them(connect: Connect, server: Server) -> None:
    item = {
        "pk": {"S": "ü"},
        "n": {"N": "1.5"},
        "B": {"B": base64.b64encode(b"\x00\xff").decode()},
        "s": {"BS": [base64.b64encode(b"a").decode()]},
        "m": {"M": {"B": {"S": "text"}, "BS": {"L": [{"NULL": True}, {"BOOL": False}]}}},
    }
    server.body = json.dumps({"Item": item}).encode()
    server.headers = {"x-amzn-requestid": "R1", "x-amz-crc32": str(zlib.crc32(server.body))}
    plain = boto3.Session("key-id", "secret", region_name="us-east-1").client("dynamodb", endpoint_url=server.url)
    expected = plain.get_item(TableName="table", Key=KEY)
    found = connect().get_item(TableName="table", Key=KEY)
    assert found["Item"] == expected["Item"]
    assert found["ResponseMetadata"]["RequestId"] == "R1"


def test_errors_have_their_code_and_what_belongs_to_them(connect: Connect, server: Server) -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": KEY, "Message": "m"}]
    server.status = 400
    server.body = json.dumps(
        {
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "canceled",
            "CancellationReasons": reasons,
        }
    ).encode()
    client = connect()
    with pytest.raises(client.exceptions.TransactionCanceledException) as raised:
        client.transact_write_items(TransactItems=[])
    response: Any = raised.value.response
    assert response["Error"] == {"Code": "TransactionCanceledException", "Message": "canceled"}
    assert response["CancellationReasons"] == reasons
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert len(server.seen) == 1


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[1]"])
def test_what_a_proxy_answers_is_an_error_with_its_status(connect: Connect, server: Server, body: bytes) -> None:
    server.status, server.body = 502, body
    with pytest.raises(ClientError) as raised:
        connect().get_item(TableName="table", Key=KEY)
    metadata: Any = raised.value.response["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], raised.value.response["Error"]["Code"]) == (502, "502")


def test_a_damaged_response_is_as_good_as_none(connect: Connect, server: Server) -> None:
    server.headers = {"x-amz-crc32": "1"}
    with pytest.raises(ConnectionClosedError):
        connect().get_item(TableName="table", Key=KEY)


def test_nobody_listens(connect: Connect) -> None:
    with pytest.raises(EndpointConnectionError):
        connect(url="http://127.0.0.1:9").get_item(TableName="table", Key=KEY)


def test_nobody_answers(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(url=f"http://127.0.0.1:{silent.getsockname()[1]}", read_timeout=0.1)
        with pytest.raises(ReadTimeoutError):
            client.get_item(TableName="table", Key=KEY)


@pytest.mark.parametrize("body", [b"<html>log in here</html>", b"", b"[1]"])
def test_a_page_in_place_of_a_response_is_as_good_as_none(connect: Connect, server: Server, body: bytes) -> None:
    server.body = body
    with pytest.raises(ConnectionClosedError):
        connect().get_item(TableName="table", Key=KEY)


def test_an_endpoint_of_an_account_changes_with_the_credentials() -> None:
    credentials = Credentials("key-id", "secret", account_id="111111111111")
    session = botocore.session.get_session()
    session._credentials = credentials
    client = dynamodb.connect(
        endpoint_url=None, session=boto3.Session(botocore_session=session, region_name="eu-west-1")
    )
    urls: list[str] = []
    client.meta.events.register_first(
        "before-call.dynamodb", lambda params, **_: urls.append(params["url"]) or (_ok(), {})
    )
    for account in ("111111111111", "222222222222", None):
        credentials.account_id = account
        client.get_item(TableName="table", Key=KEY)
    assert urls == [
        "https://111111111111.ddb.eu-west-1.amazonaws.com/",
        "https://222222222222.ddb.eu-west-1.amazonaws.com/",
        "https://dynamodb.eu-west-1.amazonaws.com/",
    ]


def test_a_botocore_that_differs_works_in_its_own_way() -> None:
    class Client:
        """Has none of what is replaced, but its events."""

        class meta:
            endpoint_url, region_name = "http://127.0.0.1:9", "eu-central-1"
            config = dynamodb.LIMITS
            events = EventAliaser(HierarchicalEmitter())

        _serializer = _ruleset_resolver = None

    client: Any = Client()
    send_directly(client)
    assert (client._serializer, client._ruleset_resolver) == (None, None)


def test_without_credentials_nothing_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    client = dynamodb.connect(endpoint_url=server.url, session=boto3.Session(region_name="eu-central-1"))
    with pytest.raises(NoCredentialsError):
        client.get_item(TableName="table", Key=KEY)
    assert server.seen == []


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://123456789012.ddb.eu-central-1.amazonaws.com/"},
        {"headers": {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}},
        {"body": "text"},
    ],
)
def test_what_is_not_known_botocore_sends(connect: Connect, server: Server, change: dict[str, Any]) -> None:
    client = connect()
    client.meta.events.register_first("before-call.dynamodb", lambda params, **_: params.update(change))
    handlers: list[Any] = []
    client.meta.events.register_last("before-call.dynamodb", lambda **_: handlers.append(1) or (_ok(), {}))
    client.get_item(TableName="table", Key=KEY)
    assert handlers == [1] and server.seen == []


def test_behind_a_proxy_botocore_sends(connect: Connect, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    handlers: list[Any] = []
    client = connect(url="http://dynamodb.example")
    client.meta.events.register_last("before-call.dynamodb", lambda **_: handlers.append(1) or (_ok(), {}))
    client.get_item(TableName="table", Key=KEY)
    assert handlers == [1]  # nothing of ours answered before


def _ok() -> Any:
    return SimpleNamespace(status_code=200)


def test_the_client_of_local_mode_sends_the_same_way(server: Server) -> None:
    ministack.table_client(server.url).get_item(TableName="table", Key=KEY)
    assert "Credential=" in server.seen[0][0]["authorization"]
