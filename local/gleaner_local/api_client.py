"""The service's HTTP API, as the commands call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from gleaner_local.service import running_service

DEFAULT_PORT = 8000
_SECONDS = 60.0


class CallFailed(Exception):
    """The call brought no result; the message says in one line why."""


class OutOfReach(CallFailed):
    """Nothing answers there."""


class ApiClient:
    """Calls the service at `url`, or else the one that runs over `data_dir`, or else the default port."""

    def __init__(
        self, url: str | None, data_dir: Path, *, caller: str | None = None, timeout: float = _SECONDS
    ) -> None:
        found = url or running_service(data_dir).get("url") or f"http://127.0.0.1:{DEFAULT_PORT}"
        self.url = found.rstrip("/")
        # One client for all calls: loading the certificates takes longer than a call on this machine.
        self._http = httpx.Client(headers={"x-api-key": caller} if caller else {}, timeout=timeout)

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The response, whatever its status. Raises OutOfReach, or CallFailed when it broke off."""
        try:
            return self._http.request(method, f"{self.url}{path}", **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise OutOfReach(
                f"No service answers at {self.url}. Start one with `gleaner serve`, or name one with --url."
            ) from error
        except httpx.HTTPError as error:
            raise CallFailed(f"{self.url} gave no complete answer ({type(error).__name__}).") from error

    def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """The decoded answer. Raises CallFailed, also for an answer that is an error."""
        response = self.send(method, path, **request)
        try:
            answer: dict[str, Any] = response.json()
        except json.JSONDecodeError as error:
            raise CallFailed(f"What answers at {self.url} is not Gleaner.") from error
        if response.is_error:
            raise CallFailed(f"{answer.get('detail', 'The service failed.')} ({answer.get('type')})")
        return answer
