"""A response whose connection is closed halfway through the body."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class CutResponse(Response):
    """Announces the length of its body, but sends only the first half; the server then closes the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the first half of the body."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2]})
