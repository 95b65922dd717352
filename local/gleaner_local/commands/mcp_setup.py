"""What to paste into MCP clients.

The forms are those of their documentation in November 2026: code.claude.com/docs/en/mcp (Claude Code),
modelcontextprotocol.io/docs/develop/connect-local-servers (Claude Desktop),
support.claude.com/en/articles/11175166 (custom connectors), cursor.com/docs/mcp (Cursor),
code.visualstudio.com/docs/agents/reference/mcp-configuration (VS Code) and
developers.openai.com/api/docs/guides/developer-mode (ChatGPT).
"""

from __future__ import annotations

import ipaddress
import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from gleaner_local.clients.credentials import API_KEY_VARIABLE

_NAME = "gleaner"
_HEADER = "Authorization"  # as bearer token: API Gateway takes a key at `/mcp` in no other header
_INPUT = "gleaner-key"
_CALLBACK_PORT = 3118  # among the callback addresses in infra/callbacks.py
_PRIVATE_ENDINGS = ("localhost", "local", "internal", "lan", "arpa", "test")  # of names that no public server has
_CONNECTOR = "Claude Desktop and claude.ai: Settings > Connectors > Add custom connector"


def describe(url: str, bridge: Sequence[str], *, with_key: bool, is_remote: bool) -> Iterator[str]:
    """The lines to print. `url` is that of the MCP server, `bridge` the command that speaks by stdio."""
    yield f"The MCP server is at {url}"
    if with_key:
        yield f"Claude Code and Cursor read your key from {API_KEY_VARIABLE} where they run, and VS Code asks for it."
        yield "In the block of Claude Desktop, put it in place of YOUR KEY."
    signs_in = not with_key and is_remote and _is_public(url)
    if is_remote:
        yield "Where people sign in, print with --client-id and the pool's client, the output McpClientId, instead."
    yield from _section("Claude Code", _claude_code(url, with_key=with_key))
    if signs_in:
        yield from _section(_CONNECTOR, f"the name {_NAME}, the address {url}")
    else:
        place = "Claude Desktop: claude_desktop_config.json, by Settings > Developer > Edit Config"
        yield from _section(place, _as_json(_claude_desktop(bridge, with_key=with_key)))
    yield from _section("VS Code: .vscode/mcp.json", _as_json(_vs_code(url, with_key=with_key)))
    yield from _section("Cursor: .cursor/mcp.json or ~/.cursor/mcp.json", _as_json(_cursor(url, with_key=with_key)))
    yield from _section("ChatGPT", _chatgpt(url, with_key=with_key))


def describe_sign_in(url: str, client_id: str) -> Iterator[str]:
    """The lines to print where users sign in, as this client of the user pool: Cognito registers no others."""
    yield f"The MCP server is at {url}"
    port = f"--client-id {shlex.quote(client_id)} --callback-port {_CALLBACK_PORT}"
    yield from _section("Claude Code", f"claude mcp add --transport http {port} {_NAME} {shlex.quote(url)}")
    connector = f"the name {_NAME}, the address {url}, and under Advanced settings the OAuth Client ID {client_id}."
    yield from _section(_CONNECTOR, connector if _is_public(url) else _needs_public("Connectors of Claude", url))
    server = {"servers": {_NAME: {"type": "http", "url": url}}}
    yield from _section(f"VS Code: .vscode/mcp.json; enter {client_id} when it asks for the client", _as_json(server))
    signed = {"mcpServers": {_NAME: {"url": url, "auth": {"CLIENT_ID": client_id}}}}
    yield from _section("Cursor: .cursor/mcp.json or ~/.cursor/mcp.json", _as_json(signed))
    yield from _section("ChatGPT", _chatgpt(url, with_key=False, client_id=client_id))


def _section(title: str, content: str) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in content.splitlines())


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2)


def _claude_code(url: str, *, with_key: bool) -> str:
    # In single quotes: Claude Code itself expands the variable when it runs, so that it stores no key.
    header = f" --header '{_HEADER}: Bearer ${{{API_KEY_VARIABLE}}}'" if with_key else ""
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


def _chatgpt(url: str, *, with_key: bool, client_id: str | None = None) -> str:
    if not _is_public(url):
        return _needs_public("ChatGPT", url)
    lines = [
        "Turn on Settings > Apps > Advanced settings > Developer mode, and press Create app:",
        f"the name {_NAME}, the MCP server URL {url}, the authentication OAuth.",
    ]
    if client_id is not None:
        lines += [
            "Under Authentication > Advanced settings choose the user-defined OAuth client, and enter the client id",
            f"{client_id} without a secret. The callback address is shown there: the pool's client must allow it.",
        ]
    elif with_key:
        lines.append("It sends no API keys: the service must let people sign in.")
    return "\n".join(lines)


def _needs_public(client: str, url: str) -> str:
    return f"{client} cannot reach {url}: deploy the service at a public https address, and name that by --url."


def _is_public(url: str) -> bool:
    """Whether servers elsewhere may reach an address by HTTPS, as far as the address itself tells."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    try:
        is_global = ipaddress.ip_address(host).is_global
    except ValueError:  # a name
        is_global = "." in host and host.rpartition(".")[2] not in _PRIVATE_ENDINGS
    return parts.scheme == "https" and is_global
