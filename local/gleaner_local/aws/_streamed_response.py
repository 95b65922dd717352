"""Streams a function's response to an HTTP client, as API Gateway does for a method with the transfer mode STREAM."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gleaner.runtime.integration_response import DELIMITER, MAX_METADATA_BYTES
from gleaner_local.aws.execution_environment import Deliver, HandlerFailed

# A client that takes nothing for so long counts as gone, so that a question does not wait for it. API Gateway would
# wait for five minutes, and the function until its timeout.
STALLED_SECONDS = 20.0

logger = logging.getLogger(__name__)

Run = Callable[[Deliver], Awaitable[None]]  # handles the event; raises HandlerFailed


class StreamedResponse(Response):
    """A response that runs a function and sends what it writes, each piece at once.

    The function runs to its end even if the client goes. If it fails after the metadata, the connection is cut.
    """

    def __init__(
        self,
        run: Run,
        *,
        to_response: Callable[[dict[str, Any]], Response],
        to_error: Callable[[HandlerFailed], Response],
    ) -> None:
        self._run = run
        self._to_response = to_response
        self._to_error = to_error
        self._metadata: bytes | None = b""  # as far as it was received; None once the response has started
        self._is_gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._wait_for_disconnect, receive)
            failure = await self._find_failure(send)
            if not self._is_gone:
                if failure is None:
                    await self._send_body(send, b"", more_body=False)
                elif self._metadata is not None:
                    await self._to_error(failure)(scope, receive, send)
            tasks.cancel_scope.cancel()

    async def _find_failure(self, send: Send) -> HandlerFailed | None:
        """Run the function."""
        try:
            await self._run(partial(self._send_piece, send))
        except HandlerFailed as failure:
            logger.exception("The function failed")
            return failure
        if self._metadata is None:
            return None
        logger.error("The function failed: no metadata in the first %s bytes of its response", MAX_METADATA_BYTES)
        return HandlerFailed("no metadata")

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True

    async def _send_piece(self, send: Send, piece: bytes) -> bool:
        """Send a piece of what the function writes; False if nobody takes it."""
        if self._metadata is not None:
            piece = await self._start(send, self._metadata + piece)
        if piece and not self._is_gone:
            await self._send_body(send, piece, more_body=True)
        return not self._is_gone and len(self._metadata or b"") <= MAX_METADATA_BYTES

    async def _start(self, send: Send, head: bytes) -> bytes:
        """Start the response if its metadata is complete; returns what is here of its body."""
        metadata, delimiter, body = head.partition(DELIMITER)
        if not delimiter:
            self._metadata = metadata
            return b""
        response = self._to_response(json.loads(metadata))
        del response.headers["content-length"]  # not known before the end
        self._metadata = None
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        return body

    async def _send_body(self, send: Send, body: bytes, *, more_body: bool) -> None:
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                await send({"type": "http.response.body", "body": body, "more_body": more_body})
        except TimeoutError:
            self._is_gone = True
