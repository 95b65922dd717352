"""Uses the MCP server with the mcp package, as its README shows. The argument is the task, the output what it saw."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TASK = json.loads(sys.argv[1])


def server() -> Any:
    if "url" not in TASK:
        return StdioServerParameters(command=TASK["command"][0], args=TASK["command"][1:], env=TASK["env"])
    headers = {"x-api-key": TASK["api_key"]}
    return streamable_http_client(TASK["url"], http_client=create_mcp_http_client(headers=headers))


async def fails(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        result = await client.call_tool(name, arguments)
    except MCPError as error:
        return {"code": error.code, "text": str(error)}
    return {"is_error": result.is_error, "text": result.content[0].text}  # type: ignore[union-attr]


async def use() -> dict[str, Any]:
    async with Client(server(), mode=TASK["mode"]) as client:
        tools = (await client.list_tools()).tools

        async def call(name: str, **arguments: Any) -> Any:
            return (await client.call_tool(name, arguments)).structured_content

        question = {"question": TASK["question"]}
        asking = asyncio.gather(*(call("ask", **question) for _ in range(3)))
        found = await call("search", query=TASK["question"])
        read = await call("fetch", id=found["results"][0]["id"])
        asked = await asking
        return {
            "version": client.protocol_version,
            "server": client.server_info and client.server_info.name,
            "tools": {tool.name: tool.annotations and tool.annotations.read_only_hint for tool in tools},
            "found": found["results"],
            "read": read,
            "asked": asked,
            "follow_up": await call("ask", **question, session_id=asked[0]["session_id"]),
            "keywords": await call("list_keywords"),
            "invalid": await fails(client, "search", {"q": "x"}),
            "unknown": await fails(client, "drop", {}),
        }


print(json.dumps(asyncio.run(use())))
