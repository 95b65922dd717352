"""HTTP requests as REST proxy events, and answers as responses."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from gleaner_local import api_gateway
from gleaner_local.asgi import AsgiServer
from gleaner_local.execution_environment import HandlerFailed, HandlerTooSlow


@contextmanager
def gateway(invoke: Callable[[dict[str, Any], str], dict[str, Any]]) -> Iterator[httpx.Client]:
    server = AsgiServer(api_gateway.create_app(invoke))
    server.start()
    try:
        with httpx.Client(base_url=server.url) as client:
            yield client
    finally:
        server.stop()


@pytest.fixture
def seen() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def client(seen: list[dict[str, Any]]) -> Iterator[httpx.Client]:
    def invoke(event: dict[str, Any], _request_id: str) -> dict[str, Any]:
        seen.append(event)
        return {
            "statusCode": 201,
            "headers": {"x-one": "1"},
            "multiValueHeaders": {"x-many": ["a", "b"]},
            "body": "made",
            "isBase64Encoded": False,
        }

    with gateway(invoke) as connected:
        yield connected


def test_a_request_becomes_an_event(client: httpx.Client, seen: list[dict[str, Any]]) -> None:
    response = client.post("/api/x?a=1&a=2", content='{"q": "ä"}', headers={"X-Api-Key": "ann"})
    [event] = seen
    assert (event["httpMethod"], event["path"], event["body"]) == ("POST", "/api/x", '{"q": "ä"}')
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"]}
    assert event["queryStringParameters"] == {"a": "2"}
    assert event["requestContext"]["identity"]["apiKeyId"] == "ann"
    assert (response.status_code, response.text) == (201, "made")
    assert response.headers.get_list("x-many") == ["a", "b"]


@pytest.mark.parametrize(("url", "path"), [("/a%0Ab", "/a\nb"), ("/a%2Fb", "/a/b"), ("/%C2%84", "/\x84")])
def test_any_path_is_handed_on(client: httpx.Client, seen: list[dict[str, Any]], url: str, path: str) -> None:
    assert client.request("TRACE", url).status_code == 201
    assert (seen[0]["httpMethod"], seen[0]["path"]) == ("TRACE", path)


def test_what_is_absent_is_null(client: httpx.Client, seen: list[dict[str, Any]]) -> None:
    client.get("/")
    [event] = seen
    assert event["body"] is None and event["queryStringParameters"] is None
    assert event["requestContext"]["identity"]["apiKeyId"] == "local"


def test_bytes_that_are_no_text_travel_as_base64(client: httpx.Client, seen: list[dict[str, Any]]) -> None:
    client.post("/", content=b"\xff\x00")
    [event] = seen
    assert event["isBase64Encoded"] and base64.b64decode(event["body"]) == b"\xff\x00"


def test_a_body_above_the_limit_is_refused_before_the_function(
    client: httpx.Client, seen: list[dict[str, Any]]
) -> None:
    response = client.post("/", content=b"x" * (api_gateway.LARGEST_BODY + 1))
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert seen == []


@pytest.mark.parametrize(("failure", "status"), [(HandlerFailed, 502), (HandlerTooSlow, 504)])
def test_a_function_that_fails_shows_no_trace(failure: type[HandlerFailed], status: int) -> None:
    def invoke(_event: dict[str, Any], _request_id: str) -> dict[str, Any]:
        raise failure("ValueError: secret")

    with gateway(invoke) as client:
        response = client.get("/")
    assert response.status_code == status
    assert "secret" not in response.text
