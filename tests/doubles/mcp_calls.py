"""Messages of the Model Context Protocol, sent to the function's handler as API Gateway does."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Client, proxy_event

NOW = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
META = {
    VERSION_KEY: NOW,
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
