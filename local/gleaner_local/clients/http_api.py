"""A client of the service's HTTP API for the commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import httpx

from gleaner_local.clients.credentials import Credentials

MIN_TIMEOUT_SECONDS = 60.0
_GLEANER_HEADER = "x-query-id"  # the function sets it on every response
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
PROBLEM_PREFIX = "urn:gleaner:problem:"
NOT_SERVED = (f"{PROBLEM_PREFIX}not-found", f"{PROBLEM_PREFIX}method-not-allowed")
_EVENT_STREAM = "text/event-stream"
_END = "[DONE]"


class CallFailed(Exception):
    """The call failed; the message says in one line why.

    `response` is what was answered, None if nothing was, or if it broke off.
    """

    def __init__(self, message: str, response: httpx.Response | None = None) -> None:
        super().__init__(message)
        self.response = response


class OutOfReach(CallFailed):
    """No service answers at the address."""


class NotServed(CallFailed):
    """The service has no such route: it is of an earlier version."""


class ApiClient:
    """Calls the service at `url` with `credentials`."""

    def __init__(
        self, url: str, credentials: Credentials | None = None, *, timeout: float = MIN_TIMEOUT_SECONDS
    ) -> None:
        self.url = url.rstrip("/")
        self.credentials = credentials or Credentials()
        # One client for all calls: loading the certificates takes longer than a local call.
        self._http = httpx.Client(headers=self.credentials.headers(), timeout=timeout)

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request; returns a response of any status. Raises OutOfReach, or CallFailed if it broke off."""
        with self._failures():
            return self._http.request(method, f"{self.url}{path}", **request)

    def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the decoded response. Raises CallFailed, also for an error response."""
        return self._read(self.send(method, path, **request))

    def follow(self, path: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Post a question to a route that streams and yield the parts of the answer as they come.

        Raises NotServed if there is no such route, and CallFailed for an error response or a stream that breaks off.
        """
        with self._failures(), self._http.stream("POST", f"{self.url}{path}", **request) as response:
            if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
                response.read()
                if json_object(response).get("type") in NOT_SERVED:
                    raise NotServed(f"{self.url} does not stream answers.")
                self._read(response)
                raise CallFailed(f"{self.url} answered with something else than a stream.")
            for data in _read_events(response.iter_bytes()):
                if data == _END:
                    return
                yield json.loads(data)
        raise CallFailed(f"{self.url} gave no complete answer (the stream broke off).")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise OutOfReach(f"No service answers at {self.url}. Check the address and that it is running.") from error
        except httpx.HTTPError as error:
            raise CallFailed(f"{self.url} gave no complete answer ({type(error).__name__}).") from error

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        """The decoded response. Raises CallFailed for an error response."""
        answer = json_object(response)
        if response.is_error and answer.get("detail"):
            hint = self._hint(response.status_code)
            raise CallFailed(f"{answer['detail']} ({answer.get('type')}){hint}", response)
        if response.is_error or _GLEANER_HEADER not in response.headers:
            raise self.not_gleaner(response)
        return answer

    def not_gleaner(self, response: httpx.Response) -> CallFailed:
        """The error for a response that Gleaner would not give."""
        return CallFailed(
            f"The server at {self.url} is not Gleaner (HTTP {response.status_code}). Check the address: "
            "behind API Gateway it ends with the stage, such as /dev.",
            response,
        )

    def _hint(self, status: int) -> str:
        has_credentials = self.credentials and not self.credentials.assumed
        return " Pass credentials with --api-key or --token." if status in REFUSED and not has_credentials else ""


def _read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of server-sent events; comments and what follows the last line end are left out.

    Lines end with LF or CR LF only: `httpx.Response.iter_lines` also splits at U+2028, which JSON may hold.
    """
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        data = [line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:")]
        yield from (line.decode("utf-8", "replace") for line in data)


def json_object(response: httpx.Response) -> dict[str, Any]:
    """The JSON object in the body; empty if the body is anything else."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
