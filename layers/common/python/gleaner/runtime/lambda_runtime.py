"""Starts the function with a client of Lambda's Runtime API that streams responses, as the managed runtime does not.

`AWS_LAMBDA_EXEC_WRAPPER` names lambda_runtime.sh, which runs this module instead of the runtime's own start. The loop,
the logs, the errors, the snapshot and plain responses are those of awslambdaric, which is the managed runtime's client,
too. Once it streams, StreamingClient goes.

Protocol: "Building a custom runtime for AWS Lambda", Implementing response streaming in a custom runtime.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from awslambdaric import bootstrap
from awslambdaric.lambda_config import LambdaConfigProvider
from awslambdaric.lambda_runtime_client import InvocationRequest, LambdaRuntimeClient

from gleaner.runtime.response_stream import ClientGone

_CONTENT_TYPE = "application/vnd.awslambda.http-integration-response"
_ERROR_TYPE = "Lambda-Runtime-Function-Error-Type"
_ERROR_BODY = "Lambda-Runtime-Function-Error-Body"
_HANDLER = "gleaner.runtime.streamed_handler.handle"

logger = logging.getLogger(__name__)


class StreamedResult:
    """The result of one invocation, posted in chunks as they are written."""

    def __init__(self, address: str, invoke_id: str, invocation_id: str | None) -> None:
        self._connection = http.client.HTTPConnection(address)
        self._path = f"/2018-06-01/runtime/invocation/{invoke_id}/response"
        self._invocation_id = invocation_id
        self._is_broken = False
        self.is_started = False

    def send(self, chunk: bytes) -> None:
        """Send a chunk, which must not be empty; the first one begins the result. Raises ClientGone."""
        if self._is_broken:
            raise ClientGone
        try:
            if not self.is_started:
                self.is_started = True
                self._begin()
            self._connection.send(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        except OSError as error:
            self._is_broken = True
            raise ClientGone from error

    def end(self, trailers: Mapping[str, str] | None = None) -> None:
        """End the result. That nobody takes it is only logged: the environment handles the next invocation."""
        try:
            if not self._is_broken:
                lines = "".join(f"{name}: {value}\r\n" for name, value in (trailers or {}).items())
                self._connection.send(f"0\r\n{lines}\r\n".encode("latin-1"))
                response = self._connection.getresponse()
                if response.status != HTTPStatus.ACCEPTED:
                    logger.warning("The response was not accepted: %s", response.status)
        except (OSError, http.client.HTTPException) as error:
            logger.warning("The response was not taken: %s", type(error).__name__)
        finally:
            self._connection.close()

    def _begin(self) -> None:
        self._connection.putrequest("POST", self._path)
        headers = {
            "Content-Type": _CONTENT_TYPE,
            "Lambda-Runtime-Function-Response-Mode": "streaming",
            "Transfer-Encoding": "chunked",
            "Trailer": f"{_ERROR_TYPE}, {_ERROR_BODY}",
        }
        if self._invocation_id is not None:
            headers["Lambda-Runtime-Invocation-Id"] = self._invocation_id
        for name, value in headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()


class StreamingClient(LambdaRuntimeClient):  # type: ignore[misc]
    """The client of the Runtime API, which posts the results of streamed invocations in chunks."""

    def __init__(self, address: str, *, polls_in_thread: bool) -> None:
        super().__init__(address, polls_in_thread)
        self.result = StreamedResult(address, "", None)

    def wait_next_invocation(self) -> InvocationRequest:
        """Wait for the next invocation."""
        request = super().wait_next_invocation()
        self.result = StreamedResult(self.lambda_runtime_address, request.invoke_id, request.invocation_id)
        return request

    def post_invocation_result(self, *arguments: Any, **options: Any) -> None:
        """End the result if it was streamed, or post it whole."""
        if self.result.is_started:
            self.result.end()
        else:
            super().post_invocation_result(*arguments, **options)

    def post_invocation_error(self, invoke_id: str, error: str, *arguments: Any, **options: Any) -> None:
        """End a streamed result with the error, or post the error."""
        if self.result.is_started:
            body = base64.b64encode(error.encode()).decode()
            self.result.end({_ERROR_TYPE: json.loads(error)["errorType"], _ERROR_BODY: body})
        else:
            super().post_invocation_error(invoke_id, error, *arguments, **options)


@cache
def client() -> StreamingClient:
    """The client of this process, configured as awslambdaric configures its own."""
    config = LambdaConfigProvider(["", _HANDLER])
    return StreamingClient(config.api_address, polls_in_thread=config.use_thread_polling)


def main() -> None:
    """Load the function and handle invocations, until Lambda ends the process."""
    bootstrap.run(_HANDLER, client())
