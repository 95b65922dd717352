"""The description of the API: a valid document with every route, served only where it is enabled."""

from __future__ import annotations

import json
import re
import time
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import schemathesis

import gleaner
from gleaner_local.aws.execution_environment import LocalContext
from tests.api_description import ApiDescription
from tests.conftest import Client, make_api, proxy_event


@pytest.fixture
def document(client: Client) -> Any:
    status, document = client.request("GET", "/openapi.json")
    assert status == 200
    return document


def test_the_document_is_valid_openapi(document: Any) -> None:
    assert document["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(document).validate()


def test_methods_that_are_not_described_are_refused(client: Client, document: Any) -> None:
    # An undescribed path would fail other tests, because every test response is checked against the description.
    assert {"/api/chat/query", "/api/sessions/{session_id}", "/openapi.json", "/swagger"} <= set(document["paths"])
    for path, operations in document["paths"].items():
        for method in {"get", "post", "put", "patch", "delete"} - set(operations):
            response = client.send(proxy_event(method.upper(), re.sub(r"{\w+}", "x", path), "local"))
            assert response["statusCode"] == 405
            [allowed] = response["multiValueHeaders"]["Allow"]
            assert set(allowed.lower().split(", ")) == set(operations)


def test_the_frameworks_default_responses_are_not_described(document: Any) -> None:
    assert "HTTPValidationError" not in str(document)
    with_422 = [path for path, operations in document["paths"].items() if "422" in str(operations)]
    paths = ("/api/chat/query", "/api/chat/stream", "/api/sessions/{session_id}/chat")
    assert with_422 == [*paths, "/api/sessions/{session_id}/chat/stream"]  # an Idempotency-Key used before


def test_the_events_of_a_stream_are_described(document: Any) -> None:
    for path in ("/api/chat/stream", "/api/sessions/{session_id}/chat/stream"):
        content = document["paths"][path]["post"]["responses"]["200"]["content"]
        assert list(content) == ["text/event-stream"]
        assert "UiMessagePart" in str(content)
    kinds = document["components"]["schemas"]["UiMessagePart"]["anyOf"]
    parts = [document["components"]["schemas"][kind["$ref"].rpartition("/")[2]] for kind in kinds]
    assert all("type" in part["required"] and part["description"] for part in parts)


def test_errors_are_problems_with_the_possible_types(document: Any) -> None:
    for path, operations in document["paths"].items():
        has_other_errors = path.startswith("/v1/") or path == "/mcp"
        kinds = {"application/problem+json", *(["application/json"] if has_other_errors else [])}
        for operation in operations.values():
            for status, response in operation["responses"].items():
                assert set(response["headers"]) - {"Idempotent-Replayed"} == {"X-Query-Id", "X-Request-Id"}
                if status >= "4":
                    assert response["content"] and set(response["content"]) <= kinds
    session = document["paths"]["/api/sessions/{session_id}"]["delete"]["responses"]
    assert set(session) == {"204", "400", "401", "403", "404", "429", "500", "502", "503", "504"}
    assert "content" not in session["204"]
    assert "unknown-session" in str(session["404"]) and "unknown-keyword" not in str(session["404"])


def test_parameters_are_those_that_the_handlers_accept(document: Any) -> None:
    [key] = document["paths"]["/api/chat/query"]["post"]["parameters"]
    assert (key["name"], key["in"], key["required"]) == ("Idempotency-Key", "header", False)
    parameters = {item["name"]: item for item in document["paths"]["/api/keywords"]["get"]["parameters"]}
    assert set(parameters) == {"q", "kb_id", "limit", "cursor"}
    assert all(item["schema"]["type"] in ("string", "integer") for item in parameters.values())


def test_a_session_needs_no_body_and_a_question_does(document: Any) -> None:
    assert document["paths"]["/api/chat/query"]["post"]["requestBody"]["required"]
    assert not document["paths"]["/api/sessions"]["post"]["requestBody"].get("required")


def test_the_version_is_that_of_the_package(document: Any) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert document["info"]["version"] == gleaner.__version__ == project["version"]


@pytest.mark.parametrize(
    ("context", "server"),
    [
        ({"stage": "dev", "path": "/dev/openapi.json"}, "/dev"),
        ({"stage": "dev", "path": "/openapi.json"}, "/"),
        (None, "/"),
    ],
)
def test_the_server_url_is_where_the_document_was_requested(client: Client, context: Any, server: str) -> None:
    _, document = client.request("GET", "/openapi.json", requestContext=context)
    assert document["servers"] == [{"url": server}]


class References(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.urls += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_swagger_page_loads_nothing_from_other_hosts(client: Client) -> None:
    event = proxy_event("GET", "/swagger", "x")
    event["requestContext"] |= {"stage": "dev", "path": "/dev/swagger"}
    response = client.send(event)
    references = References()
    references.feed(response["body"])
    assert references.urls == []
    assert 'url: "/dev/openapi.json"' in response["body"] and "SwaggerUIBundle" in response["body"]
    [policy] = response["multiValueHeaders"]["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "http" not in policy


def test_the_description_is_not_served_without_the_setting(settings: dict[str, str]) -> None:
    api = make_api(settings | {"DOCS_ROUTES": "off"})
    for path in ("/openapi.json", "/swagger"):
        context: Any = LocalContext("query", "r", time.monotonic() + 60)
        assert api.handle(proxy_event("GET", path, "x"), context)["statusCode"] == 404


PROBLEM = {"title": "T", "status": 404, "detail": "D", "query_id": "Q"}


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "message"),
    [
        ("GET", "/api/health", 418, {}, "not described to answer 418"),
        ("GET", "/api/health", 200, {"status": 7}, "not of type"),
        ("GET", f"/api/sessions/{'0' * 26}", 404, PROBLEM | {"type": "urn:gleaner:problem:unknown-keyword"}, "enum"),
        ("DELETE", f"/api/sessions/{'0' * 26}", 204, {}, "no body"),
        ("GET", "/nowhere", 200, {}, "undescribed"),
    ],
)
def test_undescribed_responses_are_detected(
    document: Any, method: str, path: str, status: int, body: Any, message: str
) -> None:
    content_type = "application/json" if status < 400 else "application/problem+json"
    headers = {"Content-Type": [content_type], "X-Query-Id": ["q"], "X-Request-Id": ["r"]}
    response = {"statusCode": status, "multiValueHeaders": headers, "body": json.dumps(body)}
    with pytest.raises((AssertionError, ValueError), match=re.escape(message)):
        ApiDescription(document).check({"httpMethod": method, "path": path, "requestContext": {}}, response)
