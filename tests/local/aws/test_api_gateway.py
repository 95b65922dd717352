"""HTTP requests become REST proxy events, and results become responses."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from gleaner_local.aws import api_gateway
from gleaner_local.aws.api_gateway import Invoke
from gleaner_local.aws.execution_environment import HandlerFailed, HandlerTooSlow
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service.parts import NamedKeys
from tests.conftest import limit_callers, open_access


@contextmanager
def gateway(invoke: Invoke, *origins: str, keys: frozenset[str] = frozenset()) -> Iterator[httpx.Client]:
    server = AsgiServer(api_gateway.create_app(invoke, origins=origins, named_keys=keys))
    server.start()
    try:
        with httpx.Client(base_url=server.url) as client:
            yield client
    finally:
        server.stop()


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def invoke(events: list[dict[str, Any]]) -> Invoke:
    def handler(event: dict[str, Any], _request_id: str) -> dict[str, Any]:
        events.append(event)
        return {
            "statusCode": 201,
            "headers": {"x-one": "1"},
            "multiValueHeaders": {"x-many": ["a", "b"]},
            "body": "created",
            "isBase64Encoded": False,
        }

    return handler


@pytest.fixture
def client(invoke: Invoke) -> Iterator[httpx.Client]:
    with gateway(invoke) as http:
        yield http


def test_a_response_to_head_states_no_length(events: list[dict[str, Any]], client: httpx.Client) -> None:
    response = client.head("/api/x")
    assert [event["httpMethod"] for event in events] == ["HEAD"]
    assert (response.status_code, response.content) == (201, b"")
    assert response.headers.get("content-length") != "0"  # GET has another one (RFC 9110, section 8.6)


def test_a_request_becomes_an_event(client: httpx.Client, events: list[dict[str, Any]]) -> None:
    response = client.post("/api/x?a=1&a=2", content='{"q": "ä"}', headers={"X-Api-Key": "ann"})
    [event] = events
    assert (event["httpMethod"], event["path"], event["body"]) == ("POST", "/api/x", '{"q": "ä"}')
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"]}
    assert event["queryStringParameters"] == {"a": "2"}
    assert event["requestContext"]["identity"]["apiKeyId"] == "ann"
    assert (response.status_code, response.text) == (201, "created")
    assert response.headers.get_list("x-many") == ["a", "b"]


KEYS = frozenset({"admin", "mary"})  # that the settings name


@pytest.mark.parametrize(
    ("path", "headers", "caller"),
    [
        ("/v1/models", {"Authorization": "Bearer sk-anything"}, "local"),
        ("/v1/models", {}, "local"),
        ("/v1/chat/completions", {"Authorization": "Bearer mary"}, "mary"),
        ("/mcp", {"Authorization": "bearer   admin"}, "admin"),
        ("/mcp", {"Authorization": "Basic admin"}, "local"),
        ("/v1/models", {"Authorization": "Bearer sk-anything", "X-Api-Key": "ann"}, "ann"),
        ("/mcp", {"Authorization": "Bearer mary", "X-Api-Key": "ann"}, "mary"),
        ("/api/sessions", {"Authorization": "Bearer mary"}, "local"),  # as on AWS, where they take x-api-key
        ("/mcpx", {"Authorization": "Bearer mary"}, "local"),
    ],
)
def test_a_bearer_token_is_a_key_at_the_doors_if_the_settings_name_it(
    invoke: Invoke, events: list[dict[str, Any]], path: str, headers: dict[str, str], caller: str
) -> None:
    with gateway(invoke, keys=KEYS) as client:
        client.get(path, headers=headers)
    [event] = events
    assert event["requestContext"]["identity"]["apiKeyId"] == caller


def test_keys_of_admins_and_of_listed_callers_mean_somebody(settings: dict[str, str]) -> None:
    limit_callers(settings, {"key:mary": ["a"], "cognito:1": ["a"]})
    keys = NamedKeys({"key:boss", "iam:arn:x"}, open_access(settings))
    candidates = ("boss", "mary", "1", "cognito:1", "iam:arn:x", "sk-anything", "", "x" * 5_000)
    assert [key for key in candidates if key in keys] == ["boss", "mary"]


def test_a_key_means_somebody_while_the_table_cannot_be_read(settings: dict[str, str]) -> None:
    keys = NamedKeys((), open_access(settings | {"ACCESS_TABLE": "missing"}))
    assert "mary" in keys


@pytest.mark.parametrize(("url", "path"), [("/a%0Ab", "/a\nb"), ("/a%2Fb", "/a/b"), ("/%C2%84", "/\x84")])
def test_any_path_is_passed_on(client: httpx.Client, events: list[dict[str, Any]], url: str, path: str) -> None:
    assert client.request("TRACE", url).status_code == 201
    assert (events[0]["httpMethod"], events[0]["path"]) == ("TRACE", path)


def test_absent_parts_of_a_request_are_null(client: httpx.Client, events: list[dict[str, Any]]) -> None:
    client.get("/")
    [event] = events
    assert event["body"] is None and event["queryStringParameters"] is None
    assert event["requestContext"]["identity"]["apiKeyId"] == "local"


def test_a_binary_body_is_sent_as_base64(client: httpx.Client, events: list[dict[str, Any]]) -> None:
    client.post("/", content=b"\xff\x00")
    [event] = events
    assert event["isBase64Encoded"] and base64.b64decode(event["body"]) == b"\xff\x00"


def test_a_body_above_the_limit_does_not_reach_the_function(client: httpx.Client, events: list[dict[str, Any]]) -> None:
    response = client.post("/", content=b"x" * (api_gateway.MAX_BODY_BYTES + 1))
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert events == []


@pytest.mark.parametrize(("failure", "status"), [(HandlerFailed, 502), (HandlerTooSlow, 504)])
def test_the_error_of_a_failed_function_is_not_shown(failure: type[HandlerFailed], status: int) -> None:
    def invoke(_event: dict[str, Any], _request_id: str) -> dict[str, Any]:
        raise failure("ValueError: secret")

    with gateway(invoke) as client:
        response = client.get("/")
    assert response.status_code == status
    assert "secret" not in response.text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8000"]
)
def test_requests_to_names_and_addresses_of_this_machine_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 201


@pytest.mark.parametrize("key", ["a" * 20_000, "a" * 201, "a b", "mary,"])
@pytest.mark.parametrize("path", ["/api/sessions", "/v1/models"])
def test_what_can_be_no_id_of_a_key_is_refused(
    client: httpx.Client, events: list[dict[str, Any]], path: str, key: str
) -> None:
    response = client.get(path, headers={"x-api-key": key})
    assert (response.status_code, response.json()["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert "x-api-key" in response.json()["detail"]
    assert events == []


@pytest.mark.parametrize("key", ["a" * 200, "mary", "m,ary", "a:b"])
def test_what_the_list_of_callers_may_hold_is_a_key(
    client: httpx.Client, events: list[dict[str, Any]], key: str
) -> None:
    client.get("/api/sessions", headers={"x-api-key": key})
    assert events[0]["requestContext"]["identity"]["apiKeyId"] == key


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"],
)
def test_a_request_to_a_foreign_host_name_does_not_reach_the_function(
    client: httpx.Client, events: list[dict[str, Any]], host: str
) -> None:
    response = client.post("/api/keywords/prune", json={}, headers={"Host": host, "x-api-key": "admin"})
    assert (response.status_code, response.json()["type"]) == (403, "urn:gleaner:problem:not-allowed")
    assert "localhost" in response.json()["detail"]
    assert events == []


FOREIGN = ["https://evil.example", "http://localhost.evil.example", "null", "", "https://app.example:8443"]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("origin", FOREIGN)
def test_pages_of_other_sites_are_rejected(
    invoke: Invoke, events: list[dict[str, Any]], origin: str, method: str
) -> None:
    with gateway(invoke, "https://app.example") as client:
        response = client.request(method, "/api/chat/query", content=b'{"query": "x"}', headers={"Origin": origin})
    assert (response.status_code, response.json()["type"]) == (403, "urn:gleaner:problem:not-allowed")
    assert "CORS_ORIGINS" in response.json()["detail"]
    assert "access-control-allow-origin" not in response.headers
    assert events == []


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:3000", "https://app.example"])
def test_pages_of_this_machine_and_of_allowed_origins_are_answered(invoke: Invoke, origin: str) -> None:
    with gateway(invoke, "https://app.example") as client:
        assert client.get("/", headers={"Origin": origin}).status_code == 201


def test_all_origins_may_be_allowed(invoke: Invoke) -> None:
    with gateway(invoke, "*") as client:
        assert client.get("/", headers={"Origin": "https://any.example"}).status_code == 201
