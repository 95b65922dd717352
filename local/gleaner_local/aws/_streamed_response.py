"""Streams a function's response to an HTTP client, as API Gateway does for a method with the transfer mode STREAM."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gleaner.runtime.integration_response import DELIMITER, MAX_METADATA_BYTES
from gleaner_local.aws.execution_environment import Deliver, HandlerFailed

# A client that takes nothing for so long counts as gone, so that a question does not wait for it. API Gateway would
# wait for five minutes, and the function until its timeout.
STALLED_SECONDS = 20.0

logger = logging.getLogger(__name__)

Run = Callable[[Deliver], None]  # handles the event; raises HandlerFailed


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
        pieces = _Pieces(asyncio.get_running_loop(), partial(self._send_piece, send))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._wait_for_disconnect, receive)
            failure = await run_in_threadpool(self._find_failure, pieces)
            if not self._is_gone:
                if failure is None:
                    await self._send_body(send, b"", more_body=False)
                elif self._metadata is not None:
                    await self._to_error(failure)(scope, receive, send)
            tasks.cancel_scope.cancel()

    def _find_failure(self, pieces: _Pieces) -> HandlerFailed | None:
        """Run the function, in a thread of its own."""
        try:
            self._run(pieces.deliver)
        except HandlerFailed as failure:
            logger.exception("The function failed")
            return failure
        finally:
            pieces.settle()
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


class _Pieces:
    """Sends pieces from another thread, each once the one before was sent: to wait for both takes twice as long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[bytes], Coroutine[Any, Any, bool]]) -> None:
        self._loop = loop
        self._send = send
        self._sending: Future[bool] | None = None

    def deliver(self, piece: bytes) -> bool:
        """Begin to send a piece; False if nobody took the one before."""
        if not self.settle():
            return False
        # Half of the CPU time of anyio.from_thread.run.
        self._sending = asyncio.run_coroutine_threadsafe(self._send(piece), self._loop)
        return True

    def settle(self) -> bool:
        """Wait until the last piece was sent; False if nobody took it."""
        return self._sending is None or self._sending.result()
