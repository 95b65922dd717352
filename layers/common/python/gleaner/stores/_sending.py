"""Signs, sends and reads the requests of a DynamoDB client, without what botocore does for services of other kinds.

botocore still checks who may send what, and raises the errors: it asks the handlers of `before-call` for a response
before it sends a request itself, which is how its own Stubber answers. It sends itself whatever is not known here:
requests in another protocol, or to another address, such as that of an account.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import ssl
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import get_cert_path

from gleaner.stores._connections import Connections, Response

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_OPERATIONS = frozenset(
    (
        *("GetItem", "BatchGetItem", "Query", "Scan"),
        *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "BatchExecuteStatement"),
    )
)
_SERVICE, _ALGORITHM, _SCOPE_END = "dynamodb", "AWS4-HMAC-SHA256", "aws4_request"
_CONTENT_TYPE = "application/x-amz-json-1.0"  # services have moved to other protocols, which botocore follows
_MIN_ERROR_STATUS = 300


def send_directly(client: DynamoDBClient) -> None:
    """Have a client's requests for items sent from here. Behind a proxy, which botocore knows, it sends them itself."""
    config: Any = client.meta.config
    if config.proxies or getproxies():
        return
    _serialize_directly(client)
    _resolve_once(client)
    events: Any = client.meta.events  # whose types forget that a handler may answer
    sender = _Sender(client.meta.endpoint_url, client.meta.region_name, config)
    # The last handler of all: those that count, refuse or change requests come before.
    events.register_last("before-call", sender.answer)


def _serialize_directly(client: Any) -> None:
    """Have bodies of requests for items written as they are given. A botocore that differs stays as it is."""
    outer: Any = getattr(client, "_serializer", None)
    owner = outer if hasattr(outer, "_serializer") else client  # the outer one validates parameters
    serializer = getattr(owner, "_serializer", None)
    if hasattr(serializer, "serialize_to_request"):
        owner._serializer = _ItemSerializer(serializer)


def _resolve_once(client: Any) -> None:
    """Have botocore find the client's endpoint once for each operation. A botocore that differs stays as it is.

    Its rules evaluate JMESPath over each item of a transaction, in search of ARNs; here tables have names. The endpoint
    of an account, which depends on the credentials, is found each time.
    """
    resolver: Any = getattr(client, "_ruleset_resolver", None)
    resolve = getattr(resolver, "construct_endpoint", None)
    if resolve is None:
        return
    known: dict[str | None, Any] = {}

    def construct_endpoint(*arguments: Any, **options: Any) -> Any:
        name = getattr(options.get("operation_model"), "name", None)
        if name in known:
            return known[name]
        endpoint = resolve(*arguments, **options)
        if name in _OPERATIONS and endpoint.url.rstrip("/") == client.meta.endpoint_url.rstrip("/"):
            known[name] = endpoint
        return endpoint

    resolver.construct_endpoint = construct_endpoint


class _ItemSerializer:
    """Writes requests for items without botocore's walk through their shapes.

    Their parameters are what is sent, but for binary values: `items.py` writes attributes in the form of the protocol.
    """

    def __init__(self, other: Any) -> None:
        """`other` is botocore's serializer."""
        self._other = other

    def serialize_to_request(self, parameters: Any, operation_model: Any, **options: Any) -> Any:
        """The request as botocore writes it: its method, headers and body."""
        if operation_model.name in _OPERATIONS:
            request = self._other.serialize_to_request({}, operation_model, **options)
            if request["body"] == b"{}" and request["headers"].get("Content-Type") == _CONTENT_TYPE:
                request["body"] = json.dumps(parameters, default=_write_binary).encode()
                return request
        return self._other.serialize_to_request(parameters, operation_model, **options)


def _write_binary(value: Any) -> str:
    """What stands for a binary value in a body. Raises TypeError for any other that json does not know."""
    return b64encode(getattr(value, "value", value)).decode()  # boto3's Binary has a value


class _Sender:
    def __init__(self, endpoint_url: str, region: str, config: Any) -> None:
        parts = urlsplit(endpoint_url)
        self._url, self._region = endpoint_url, region
        self._host = parts.netloc
        self._connections = _connections(parts.scheme, parts.hostname or "", parts.port, config)

    def answer(
        self, *, model: Any, params: Mapping[str, Any], request_signer: Any, **_: Any
    ) -> tuple[Response, dict[str, Any]] | None:
        """Send a request for items as botocore built it; the response and its content. Raises botocore's errors."""
        if model.name not in _OPERATIONS or not self._knows(params):
            return None
        body: bytes = params["body"]
        own = {"Host": self._host, "User-Agent": params["headers"].get("User-Agent", "gleaner")}
        headers = {**params["headers"], **own}
        # Refreshed by botocore where they expire, as those of a function that was restored from a snapshot.
        credentials = request_signer.get_auth(_SERVICE, self._region).credentials
        if credentials is None:
            raise NoCredentialsError
        headers |= _sign(headers["X-Amz-Target"], body, self._host, self._region, credentials, datetime.now(UTC))
        response = self._send(body, headers)
        return response, self._read(response)

    def _send(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """The response. Raises botocore's errors, by which callers know whether the request may have been executed."""
        try:
            connection = self._connections.take()
        except ssl.SSLCertVerificationError as error:
            raise SSLError(endpoint_url=self._url, error=error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self._url, error=error) from error
        try:
            return self._connections.exchange(connection, body, headers)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionClosedError(endpoint_url=self._url, error=error) from error

    def _knows(self, params: Mapping[str, Any]) -> bool:
        is_known_type = params["headers"].get("Content-Type") == _CONTENT_TYPE and isinstance(params["body"], bytes)
        return is_known_type and params["url"].rstrip("/") == self._url.rstrip("/")

    def _read(self, response: Response) -> dict[str, Any]:
        checksum = response.headers.get("x-amz-crc32")
        if checksum is not None and int(checksum) != zlib.crc32(response.body):
            raise ConnectionClosedError(endpoint_url=self._url)  # damaged on its way: as good as none
        metadata = {
            "HTTPStatusCode": response.status_code,
            "RequestId": response.headers.get("x-amzn-requestid", ""),
            "RetryAttempts": 0,
        }
        content = _parse(response.body)
        if response.status_code < _MIN_ERROR_STATUS:
            if content is None:
                raise ConnectionClosedError(endpoint_url=self._url)  # from something in between
            return content | {"ResponseMetadata": metadata}
        if content is None:
            content = {"message": response.body[:200].decode(errors="replace")}
        code = str(content.pop("__type", response.status_code)).rsplit("#", 1)[-1]
        message = content.pop("message", content.pop("Message", ""))
        return content | {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}


def _connections(scheme: str, host: str, port: int | None, config: Any) -> Connections:
    authorities = os.environ.get("AWS_CA_BUNDLE") or get_cert_path(True)
    return Connections(
        host,
        port,
        context=ssl.create_default_context(cafile=authorities) if scheme == "https" else None,
        connect_seconds=config.connect_timeout,
        read_seconds=config.read_timeout,
        max_idle=config.max_pool_connections,
    )


def _sign(target: str, body: bytes, host: str, region: str, credentials: Any, now: datetime) -> dict[str, str]:
    """The headers that sign a request by AWS's Signature Version 4 ("Create a signed AWS API request")."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    signed = {"host": host, "x-amz-date": moment}
    if credentials.token:
        signed["x-amz-security-token"] = credentials.token
    signed["x-amz-target"] = target
    names = ";".join(signed)  # in the order of the alphabet
    lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{moment[:8]}/{region}/{_SERVICE}/{_SCOPE_END}"
    text = f"{_ALGORITHM}\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = _signing_key(credentials.secret_key, moment[:8], region)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    authorization = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    headers = {"X-Amz-Date": moment, "Authorization": authorization}
    return headers | ({"X-Amz-Security-Token": credentials.token} if credentials.token else {})


@lru_cache(maxsize=4)
def _signing_key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, _SERVICE, _SCOPE_END):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _parse(body: bytes) -> dict[str, Any] | None:
    """The content of a response; None for what is no JSON object, which comes from something in between."""
    try:
        content = json.loads(body, object_hook=_read_binary if b'"B"' in body or b'"BS"' in body else None)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _read_binary(value: dict[str, Any]) -> dict[str, Any]:
    """Binary values as bytes. An attribute that is called B has no text, but an object for its value."""
    if isinstance(text := value.get("B"), str):
        return {"B": b64decode(text)}
    if isinstance(texts := value.get("BS"), list):
        return {"BS": [b64decode(text) for text in texts]}
    return value
