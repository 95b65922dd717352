"""Responses in the form in which API Gateway streams them: metadata as JSON, eight null bytes, the body.

Source: "Set up a Lambda proxy integration with payload response streaming" in API Gateway's developer guide.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

from gleaner.model import JsonObject
from gleaner.runtime.response_stream import ClientGone, is_streamed

DELIMITER = bytes(8)
MAX_METADATA_BYTES = 16 * 1024  # within which API Gateway looks for the delimiter

Handler = Callable[[JsonObject, Any], JsonObject]
Send = Callable[[bytes], None]  # raises ClientGone


class IntegrationResponse:
    """The response to one invocation. A ResponseStream."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = Lock()
        self._metadata = b""  # goes out with the first piece: each costs every process on its way about as much
        self.is_started = False

    def start(self, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Set the status and the headers. Raises RuntimeError if that was done."""
        metadata = {"statusCode": status, "multiValueHeaders": {name: list(values) for name, values in headers.items()}}
        with self._lock:
            if self.is_started:
                raise RuntimeError("The response was started before.")
            self.is_started = True
            self._metadata = json.dumps(metadata).encode() + DELIMITER

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body. Raises ClientGone, and RuntimeError if the response was not started."""
        if not self.is_started:
            raise RuntimeError("The response must be started first.")
        if chunk:  # an empty chunk would end the response
            self._send_on(chunk)

    def finish(self) -> None:
        """Send the metadata of a response without a body. Raises ClientGone."""
        if self._metadata:
            self._send_on(b"")

    def _send_on(self, chunk: bytes) -> None:
        with self._lock:
            chunk, self._metadata = self._metadata + chunk, b""
            self._send(chunk)


def handle(handler: Handler, event: JsonObject, context: Any, send: Send) -> JsonObject | None:
    """Call `handler`, with a stream where responses are streamed; what it returns unstreamed there is sent as one.

    Returns the answer where responses are sent whole, and None where the answer was sent.
    """
    if not is_streamed(event):
        return handler(event, context)
    response = IntegrationResponse(send)
    context.response_stream = response
    answer = handler(event, context)
    with suppress(ClientGone):
        if not response.is_started:
            _send_whole(answer, response)
        response.finish()
    return None


def _send_whole(answer: JsonObject, response: IntegrationResponse) -> None:
    headers = {name: [value] for name, value in (answer.get("headers") or {}).items()}
    response.start(answer["statusCode"], headers | (answer.get("multiValueHeaders") or {}))
    body = answer.get("body") or ""
    response.write(base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode())
