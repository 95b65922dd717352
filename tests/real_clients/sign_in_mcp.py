"""Signs in to the MCP server with the mcp package, as a client whose id was registered before.

The argument is the task, the output what the client asked for and got. A user's browser is played by an HTTP client.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

TASK = json.loads(sys.argv[1])


class Storage:
    """Holds the registered client, and the tokens once there are some."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull(
            client_id=TASK["client_id"], redirect_uris=[TASK["callback"]], token_endpoint_auth_method="none"
        )

    async def set_client_info(self, _client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("Nothing registers clients.")


class Browser:
    """Opens the address that the client gives it, signs in, and is sent back to the client."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self._back = ""

    async def open(self, address: str) -> None:
        self.asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        async with httpx2.AsyncClient() as http:
            page = await http.get(address, follow_redirects=True)
            self._back = (await http.post(page.url)).headers["location"]

    async def come_back(self) -> AuthorizationCodeResult:
        answer = parse_qs(urlsplit(self._back).query)
        return AuthorizationCodeResult(code=answer["code"][0], state=answer["state"][0])


async def sign_in() -> dict[str, Any]:
    storage, browser = Storage(), Browser()
    metadata = OAuthClientMetadata(client_name="test", redirect_uris=[TASK["callback"]])
    provider = OAuthClientProvider(TASK["url"], metadata, storage, browser.open, browser.come_back)
    async with Client(streamable_http_client(TASK["url"], http_client=create_mcp_http_client(auth=provider))) as client:
        tools = (await client.list_tools()).tools
    assert storage.tokens is not None
    return {"asked": browser.asked, "scope": storage.tokens.scope, "tools": [tool.name for tool in tools]}


print(json.dumps(asyncio.run(sign_in())))
