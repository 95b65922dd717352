"""A connection that is cut off in the middle of an answer."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class CutResponse(Response):
    """Promises its whole body and sends the first half; the server then closes the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send what there is."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2]})
