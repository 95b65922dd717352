"""The messages of the Model Context Protocol over HTTP, of all its versions, and hostile ones."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Client, make_api, proxy_event
from tests.doubles.mcp_calls import LEGACY, META, NOW, VERSION_KEY, post, request, send


@pytest.fixture(scope="module")
def wire(environment: dict[str, str]) -> Client:
    """The API, with pages of one other origin."""
    return Client(make_api(environment | {"CORS_ORIGINS": "https://app.example.org"}))


def test_the_current_version_needs_no_handshake(wire: Client) -> None:
    status, body = send(wire, "server/discover")
    result = body["result"]
    assert (status, result["resultType"], result["supportedVersions"][0]) == (200, "complete", NOW)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "gleaner"
    assert (result["capabilities"], result["cacheScope"]) == ({"tools": {}}, "public")
    tools = send(wire, "tools/list")[1]["result"]["tools"]
    assert {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools} == {
        "search": True,
        "fetch": True,
        "ask": False,
        "list_keywords": True,
    }
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize("version", LEGACY)
def test_earlier_versions_agree_on_theirs_by_a_handshake_without_a_session(wire: Client, version: str) -> None:
    status, body = post(wire, request("initialize", protocolVersion=version, capabilities={}, clientInfo={}))
    assert (status, body["result"]["protocolVersion"]) == (200, version)
    headers = {"MCP-Protocol-Version": version}
    assert post(wire, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers) == (202, None)
    assert post(wire, request("ping", "a"), headers) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})
    assert len(post(wire, request("tools/list"), headers)[1]["result"]["tools"]) == 4


def test_a_handshake_of_an_unknown_version_is_offered_the_newest_that_has_one(wire: Client) -> None:
    assert post(wire, request("initialize", protocolVersion="2999-01-01"))[1]["result"]["protocolVersion"] == LEGACY[0]


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("ping", {}, 404, -32601),
        ("initialize", {"protocolVersion": NOW}, 404, -32601),
        ("resources/list", {}, 404, -32601),
        ("tools/list", {"cursor": "x"}, 400, -32602),
        ("tools/call", {"name": "drop"}, 400, -32602),
        ("tools/call", {"name": "search", "arguments": [1]}, 400, -32602),
        ("tools/call", {}, 400, -32602),
    ],
)
def test_errors_of_the_current_version(
    wire: Client, method: str, params: dict[str, Any], status: int, code: int
) -> None:
    answered, body = send(wire, method, **params)
    assert (answered, body["error"]["code"], body["id"]) == (status, code, 1)


@pytest.mark.parametrize("method", ["server/discover", "resources/list", "tools/call"])
def test_errors_of_methods_of_earlier_versions_are_answers_like_any_other(wire: Client, method: str) -> None:
    status, body = post(wire, request(method), {"MCP-Protocol-Version": "2025-06-18"})
    assert (status, body["error"]["code"]) == (200, -32602 if method == "tools/call" else -32601)


@pytest.mark.parametrize(
    ("headers", "meta", "code"),
    [
        ({}, None, -32602),
        ({}, {}, -32602),
        ({}, {name: META[name] for name in list(META)[:2]}, -32602),
        ({"MCP-Protocol-Version": None}, META, -32020),
        ({"MCP-Protocol-Version": "2025-11-25"}, META, -32020),
        ({"MCP-Protocol-Version": [NOW, NOW]}, META, -32020),
        ({"Mcp-Method": "tools/list"}, META, -32020),
        ({"Mcp-Method": None}, META, -32020),
        ({"Mcp-Name": "fetch"}, META, -32020),
        ({"Mcp-Name": None}, META, -32020),
        ({"Mcp-Name": "=?base64?!?="}, META, -32020),
        ({"MCP-Protocol-Version": "2999-01-01"}, None, -32022),
        ({"MCP-Protocol-Version": "2999-01-01"}, META | {VERSION_KEY: "2999-01-01"}, -32022),
        ({"MCP-Protocol-Version": "2025-11-25"}, META | {VERSION_KEY: "2025-11-25"}, -32022),
    ],
)
def test_what_a_request_says_twice_must_agree(
    wire: Client, headers: dict[str, Any], meta: dict[str, Any] | None, code: int
) -> None:
    message = request(
        "tools/call", name="search", arguments={"query": "x"}, **({} if meta is None else {"_meta": meta})
    )
    required = {"MCP-Protocol-Version": NOW, "Mcp-Method": "tools/call", "Mcp-Name": "search"}
    status, body = post(wire, message, required | headers)
    assert (status, body["error"]["code"], body["id"]) == (400, code, 1)
    if code == -32022:
        assert body["error"]["data"]["supported"] == [NOW, *LEGACY]


def test_a_name_in_base64_is_decoded(wire: Client) -> None:
    encoded = f"=?base64?{base64.b64encode(b'search').decode()}?="
    headers = {"Mcp-Name": f" {encoded} "}
    assert send(wire, "tools/call", name="search", arguments={"query": "x"}, headers=headers)[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example", "Host": "api.example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://api.example.org", "Host": "api.example.org"}, 200),
        ({"Origin": "https://app.example.org"}, 200),
        ({"Accept": None}, 200),
        ({"Accept": "*/*"}, 200),
        ({"Accept": "text/event-stream"}, 406),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_requests_are_refused_for_their_headers(wire: Client, headers: dict[str, Any], status: int) -> None:
    lower = {"accept": "application/json"} | {name.lower(): value for name, value in headers.items()}
    assert post(wire, request("ping"), lower)[0] == status


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_served(wire: Client, method: str) -> None:
    response = wire.send(proxy_event(method, "/mcp", "local"))
    assert (response["statusCode"], response["multiValueHeaders"]["Allow"]) == (405, ["POST"])


def test_pages_of_allowed_origins_may_send_the_headers_of_the_protocol(wire: Client) -> None:
    origin = {"origin": "https://app.example.org"}
    response = wire.send(proxy_event("OPTIONS", "/mcp", "local") | {"headers": origin, "multiValueHeaders": None})
    [allowed] = response["multiValueHeaders"]["Access-Control-Allow-Headers"]
    assert {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= set(allowed.split(","))


def test_batches_are_served_where_the_version_has_them(wire: Client) -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    batch = [request("ping", 1), notification, {"jsonrpc": "2.0", "id": "x", "result": {}}, request("no", 2), 7]
    for headers in ({}, {"MCP-Protocol-Version": "2024-11-05"}):
        status, body = post(wire, batch, headers)
        assert status == 200
        assert [(one["id"], one.get("error", {}).get("code")) for one in body] == [
            (1, None),
            (2, -32601),
            (None, -32600),
        ]
    assert post(wire, [notification]) == (202, None)
    for version in ("2025-06-18", "2025-11-25", NOW):
        assert post(wire, batch, {"MCP-Protocol-Version": version})[0] == 400
    assert post(wire, [])[0] == post(wire, [request("ping")] * 21)[0] == 400


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", -32700),
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("1" * 5_000, -32700),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}', -32700),
        ("null", -32600),
        ('"text"', -32600),
        ("{}", -32600),
        ('{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
    ],
)
def test_what_is_no_message_is_refused(wire: Client, body: str, code: int) -> None:
    status, refused = post(wire, body)
    assert (status, refused["error"]["code"]) == (400, code)


def test_a_body_that_is_too_long_or_no_gzip_is_refused(wire: Client) -> None:
    assert post(wire, " " * 2_000_001)[0] == 413
    status, unknown = post(wire, request("ping"), {"content-encoding": "br"})
    assert (status, unknown["error"]["code"]) == (415, -32600)
    assert "plain or compressed with gzip" in unknown["error"]["message"]
    damaged = {"content-encoding": "gzip"}
    assert post(wire, base64.b64encode(b"x").decode(), damaged, isBase64Encoded=True)[0] == 400


def test_messages_that_need_no_response_are_accepted(wire: Client) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    for version in (NOW, *LEGACY):
        assert post(wire, cancelled, {"MCP-Protocol-Version": version}) == (202, None)
    assert post(wire, cancelled, {"MCP-Protocol-Version": "x"})[0] == 400
    assert post(wire, reply)[0] == 202
    assert post(wire, reply, {"MCP-Protocol-Version": NOW})[0] == 400


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "notifications/initialized", "x"]
)
NAMES = st.sampled_from(["search", "fetch", "ask", "list_keywords", "x"])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | st.text() | VALUES,
        "method": METHODS | VALUES,
        "result": VALUES,
        "params": VALUES
        | st.fixed_dictionaries(
            {},
            optional={
                "name": NAMES | VALUES,
                "arguments": VALUES,  # none has what a tool requires, so no tool runs
                "protocolVersion": st.sampled_from(LEGACY) | VALUES,
                "_meta": st.just(META) | VALUES,
                "cursor": VALUES,
            },
        ),
    },
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.sampled_from([NOW, *LEGACY]) | st.text(max_size=20),
        "mcp-method": METHODS | st.text(max_size=20),
        "mcp-name": NAMES | st.text(max_size=20).map(lambda name: f"=?base64?{name}?="),
        "origin": st.text(max_size=20),
        "accept": st.text(max_size=20),
    },
)


@given(message=MESSAGES | st.lists(MESSAGES, max_size=3) | VALUES, headers=HEADERS)
def test_no_message_makes_the_service_fail(wire: Client, message: Any, headers: dict[str, str]) -> None:
    status, body = post(wire, message, headers)
    assert status in (200, 202, 400, 403, 404, 406)
    assert (body is None) == (status == 202)
    for one in body if isinstance(body, list) else [body] if body else []:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) != ("error" in one)
        assert status == 200 or one["error"]["code"] < 0
