"""Where MCP clients receive the sign-in of their user: the addresses that their documentation gives.

Cognito compares the whole address, with its port, and registers no client by itself. So each user enters the id of the
one client of the pool, and the fixed port where there is a choice.
"""

from __future__ import annotations

import re

MCP_CALLBACK_URLS = (
    # Claude Code (code.claude.com/docs/en/mcp): `--callback-port 3118`.
    "http://localhost:3118/callback",
    # claude.ai, Claude Desktop and the mobile apps (support.claude.com: custom connectors).
    "https://claude.ai/api/mcp/auth_callback",
    "https://claude.com/api/mcp/auth_callback",
    # ChatGPT (developers.openai.com/apps-sdk). A newer connector has an address of its own, to add when it shows it.
    "https://chatgpt.com/connector_platform_oauth_redirect",
    # VS Code (code.visualstudio.com/api/extension-guides/ai/mcp), on this machine and in a browser.
    "http://127.0.0.1:33418",
    "http://127.0.0.1:33418/",
    "https://vscode.dev/redirect",
    # Cursor (cursor.com/docs/context/mcp), in its newer and older versions, and its cloud agents.
    "http://localhost:8787/callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
)
# What Cognito allows: http on this machine only, or the scheme of an app; no fragment.
_ALLOWED = re.compile(
    r"(https://[^#]+|http://(localhost|127\.0\.0\.1|\[::1\])([:/][^#]*)?|(?!https?:)[a-z][a-z0-9+.-]*://[^#]+)"
)


def is_callback(url: str) -> bool:
    """Whether Cognito allows this address as a callback."""
    return _ALLOWED.fullmatch(url) is not None
