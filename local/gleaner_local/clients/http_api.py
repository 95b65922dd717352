"""A client of the service's HTTP API for the commands."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import httpx

from gleaner_local.clients.credentials import Credentials

MIN_TIMEOUT_SECONDS = 60.0
_GLEANER_HEADER = "x-query-id"  # the function sets it on every response
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class CallFailed(Exception):
    """The call failed; the message says in one line why."""


class OutOfReach(CallFailed):
    """No service answers at the address."""


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
        try:
            return self._http.request(method, f"{self.url}{path}", **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise OutOfReach(f"No service answers at {self.url}. Check the address and that it is running.") from error
        except httpx.HTTPError as error:
            raise CallFailed(f"{self.url} gave no complete answer ({type(error).__name__}).") from error

    def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the decoded response. Raises CallFailed, also for an error response."""
        response = self.send(method, path, **request)
        answer = json_object(response)
        if response.is_error and answer.get("detail"):
            raise CallFailed(f"{answer['detail']} ({answer.get('type')}){self._hint(response.status_code)}")
        if response.is_error or _GLEANER_HEADER not in response.headers:
            raise CallFailed(
                f"The server at {self.url} is not Gleaner (HTTP {response.status_code}). Check the address: "
                "behind API Gateway it ends with the stage, such as /dev."
            )
        return answer

    def _hint(self, status: int) -> str:
        has_credentials = self.credentials and not self.credentials.assumed
        return " Pass credentials with --api-key or --token." if status in REFUSED and not has_credentials else ""


def json_object(response: httpx.Response) -> dict[str, Any]:
    """The JSON object in the body; empty if the body is anything else."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
