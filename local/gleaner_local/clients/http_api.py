"""The service's HTTP API, as the commands call it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import httpx

from gleaner_local.clients.credentials import Credentials

_SECONDS = 60.0
_MARK = "x-query-id"  # the function puts it on every answer
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class CallFailed(Exception):
    """The call brought no result; the message says in one line why."""


class OutOfReach(CallFailed):
    """Nothing answers there."""


class ApiClient:
    """Calls the service at `url` as the caller whom `credentials` name."""

    def __init__(self, url: str, credentials: Credentials | None = None, *, timeout: float = _SECONDS) -> None:
        self.url = url.rstrip("/")
        self.credentials = credentials or Credentials()
        # One client for all calls: loading the certificates takes longer than a call on this machine.
        self._http = httpx.Client(headers=self.credentials.headers(), timeout=timeout)

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The response, whatever its status. Raises OutOfReach, or CallFailed when it broke off."""
        try:
            return self._http.request(method, f"{self.url}{path}", **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise OutOfReach(f"No service answers at {self.url}. Check the address, and that it runs.") from error
        except httpx.HTTPError as error:
            raise CallFailed(f"{self.url} gave no complete answer ({type(error).__name__}).") from error

    def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """The decoded answer. Raises CallFailed, also for an answer that is an error."""
        response = self.send(method, path, **request)
        answer = json_object(response)
        if response.is_error and answer.get("detail"):
            raise CallFailed(f"{answer['detail']} ({answer.get('type')}){self._hint(response.status_code)}")
        if response.is_error or _MARK not in response.headers:
            raise CallFailed(
                f"What answers at {self.url} is not Gleaner (HTTP {response.status_code}). Check the address: "
                "behind API Gateway it ends with the stage, such as /dev."
            )
        return answer

    def _hint(self, status: int) -> str:
        known = self.credentials and not self.credentials.assumed
        return " Say who you are with --api-key or --token." if status in REFUSED and not known else ""


def json_object(response: httpx.Response) -> dict[str, Any]:
    """The JSON object that is the body; empty when the body is something else."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
