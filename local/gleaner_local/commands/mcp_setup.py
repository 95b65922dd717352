"""What to paste into MCP clients.

The forms are those of their documentation in November 2026: code.claude.com/docs/en/mcp (Claude Code),
modelcontextprotocol.io/docs/develop/connect-local-servers (Claude Desktop),
code.visualstudio.com/docs/agents/reference/mcp-configuration (VS Code), cursor.com/docs/mcp (Cursor) and
developers.openai.com/apps-sdk/deploy/connect-chatgpt (ChatGPT).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from gleaner_local.clients.credentials import API_KEY_VARIABLE

_NAME = "gleaner"
_HEADER = "Authorization"  # as bearer token: API Gateway takes a key at `/mcp` in no other header
_INPUT = "gleaner-key"
_CALLBACK_PORT = 3118  # among the callback addresses in infra/callbacks.py


def describe(url: str, bridge: Sequence[str], *, with_key: bool, is_public: bool) -> Iterator[str]:
    """The lines to print. `url` is that of the MCP server, `bridge` the command that speaks by stdio."""
    yield f"The MCP server is at {url}"
    if with_key:
        yield f"Set {API_KEY_VARIABLE} to your key first. Who signs in instead names the pool's client: --client-id."
    yield from _section("Claude Code", _claude_code(url, with_key=with_key))
    place = "Claude Desktop: claude_desktop_config.json, by Settings > Developer > Edit Config"
    yield from _section(place, _as_json(_claude_desktop(bridge, with_key=with_key)))
    yield from _section("VS Code: .vscode/mcp.json", _as_json(_vs_code(url, with_key=with_key)))
    yield from _section("Cursor: .cursor/mcp.json or ~/.cursor/mcp.json", _as_json(_cursor(url, with_key=with_key)))
    yield from _section("ChatGPT", _chatgpt(url, with_key=with_key, is_public=is_public))


def describe_sign_in(url: str, client_id: str) -> Iterator[str]:
    """The lines to print where users sign in, as this client of the user pool: Cognito registers no others."""
    yield f"The MCP server is at {url}"
    port = f"--client-id {shlex.quote(client_id)} --callback-port {_CALLBACK_PORT}"
    yield from _section("Claude Code", f"claude mcp add --transport http {port} {_NAME} {shlex.quote(url)}")
    connector = f"the name {_NAME}, the address {url}, and under Advanced settings the OAuth Client ID {client_id}."
    yield from _section("Claude Desktop and claude.ai: Settings > Connectors > Add custom connector", connector)
    server = {"servers": {_NAME: {"type": "http", "url": url}}}
    yield from _section(f"VS Code: .vscode/mcp.json; enter {client_id} when it asks for the client", _as_json(server))
    signed = {"mcpServers": {_NAME: {"url": url, "auth": {"CLIENT_ID": client_id}}}}
    yield from _section("Cursor: .cursor/mcp.json or ~/.cursor/mcp.json", _as_json(signed))
    chatgpt = _chatgpt(url, with_key=False, is_public=True)
    yield from _section("ChatGPT", f"{chatgpt}\nIts OAuth client is {client_id}, without a secret.")


def _section(title: str, content: str) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in content.splitlines())


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2)


def _claude_code(url: str, *, with_key: bool) -> str:
    header = f' --header "{_HEADER}: Bearer ${API_KEY_VARIABLE}"' if with_key else ""
    return f"claude mcp add --transport http {_NAME} {shlex.quote(url)}{header}"


def _claude_desktop(bridge: Sequence[str], *, with_key: bool) -> dict[str, Any]:
    command, *arguments = bridge
    key = {"env": {API_KEY_VARIABLE: "YOUR KEY"}} if with_key else {}
    return {"mcpServers": {_NAME: {"command": command, "args": arguments} | key}}


def _vs_code(url: str, *, with_key: bool) -> dict[str, Any]:
    server: dict[str, Any] = {"type": "http", "url": url}
    if not with_key:
        return {"servers": {_NAME: server}}
    asked = {"type": "promptString", "id": _INPUT, "description": "Your key for Gleaner", "password": True}
    return {"inputs": [asked], "servers": {_NAME: server | {"headers": {_HEADER: f"Bearer ${{input:{_INPUT}}}"}}}}


def _cursor(url: str, *, with_key: bool) -> dict[str, Any]:
    headers = {"headers": {_HEADER: f"Bearer ${{env:{API_KEY_VARIABLE}}}"}} if with_key else {}
    return {"mcpServers": {_NAME: {"url": url} | headers}}


def _chatgpt(url: str, *, with_key: bool, is_public: bool) -> str:
    if not is_public:
        return "ChatGPT reaches no service of this machine: deploy it, and name it by --url."
    lines = [
        "Turn on Settings > Apps & Connectors > Advanced settings > Developer mode, and press Create:",
        f"the name {_NAME}, the MCP server URL {url}, the authentication OAuth.",
    ]
    return "\n".join(lines + (["It sends no API keys: the service must let people sign in."] if with_key else []))
