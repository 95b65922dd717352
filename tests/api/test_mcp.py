"""The Model Context Protocol over the function's handler."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import MERGING, PRUNING, Client, proxy_event

NOW = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NOW,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


def post(
    client: Client, message: Any, headers: dict[str, Any] | None = None, *, caller: str = "local", **event: Any
) -> tuple[int, Any]:
    """Status and decoded body; a header that is a list is sent several times."""
    sent = {"content-type": "application/json", "accept": "application/json, text/event-stream"} | (headers or {})
    many = {name: value if isinstance(value, list) else [value] for name, value in sent.items() if value is not None}
    body = message if isinstance(message, str) else json.dumps(message)
    single = {name: values[-1] for name, values in many.items()}
    request = {"headers": single, "multiValueHeaders": many, "body": body} | event
    response = client.send(proxy_event("POST", "/mcp", caller) | request)
    return response["statusCode"], json.loads(response["body"]) if response["body"] else None


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def send(client: Client, method: str, *, headers: dict[str, Any] | None = None, **params: Any) -> tuple[int, Any]:
    """A request of the current version, with the headers that it needs."""
    repeated = {"MCP-Protocol-Version": NOW, "Mcp-Method": method}
    if "name" in params:
        repeated["Mcp-Name"] = params["name"]
    return post(client, request(method, _meta=META, **params), repeated | (headers or {}))


def call(client: Client, name: str, *, caller: str = "local", **arguments: Any) -> dict[str, Any]:
    """The result of a tool call."""
    headers = {"MCP-Protocol-Version": NOW, "Mcp-Method": "tools/call", "Mcp-Name": name}
    message = request("tools/call", _meta=META, name=name, arguments=arguments)
    status, body = post(client, message, headers, caller=caller)
    assert status == 200, body
    [text] = body["result"]["content"]
    if not body["result"].get("isError"):
        assert json.loads(text["text"]) == body["result"]["structuredContent"]
    return dict(body["result"])


def structured(client: Client, name: str, *, caller: str = "local", **arguments: Any) -> Any:
    result = call(client, name, caller=caller, **arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def test_the_current_version_needs_no_handshake(client: Client) -> None:
    status, body = send(client, "server/discover")
    result = body["result"]
    assert (status, result["resultType"], result["supportedVersions"][0]) == (200, "complete", NOW)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "gleaner"
    assert (result["capabilities"], result["cacheScope"]) == ({"tools": {}}, "public")
    tools = send(client, "tools/list")[1]["result"]["tools"]
    assert {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools} == {
        "search": True,
        "fetch": True,
        "ask": False,
        "list_keywords": True,
    }
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize("version", LEGACY)
def test_earlier_versions_agree_on_theirs_by_a_handshake_without_a_session(client: Client, version: str) -> None:
    status, body = post(client, request("initialize", protocolVersion=version, capabilities={}, clientInfo={}))
    assert (status, body["result"]["protocolVersion"]) == (200, version)
    headers = {"MCP-Protocol-Version": version}
    assert post(client, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers) == (202, None)
    assert post(client, request("ping", "a"), headers) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})
    assert len(post(client, request("tools/list"), headers)[1]["result"]["tools"]) == 4


def test_a_handshake_of_an_unknown_version_is_offered_the_newest_that_has_one(client: Client) -> None:
    assert (
        post(client, request("initialize", protocolVersion="2999-01-01"))[1]["result"]["protocolVersion"] == LEGACY[0]
    )


def test_search_and_fetch_keep_the_contract_of_chatgpt(client: Client) -> None:
    results = structured(client, "search", query="How are duplicates merged?")["results"]
    assert results[0]["title"] == "Handbook: Keywords"
    read = structured(client, "fetch", id=results[0]["id"])
    assert read.keys() == {"id", "title", "text", "url", "metadata"}
    assert (read["text"], read["url"]) == (f"{MERGING}\n\n{PRUNING}", results[0]["url"])
    document = structured(client, "fetch", id=read["metadata"]["document"])
    assert (document["title"], document["text"]) == ("Handbook", f"{MERGING}\n\n{PRUNING}")
