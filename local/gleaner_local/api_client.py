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


class ApiClient:
    """Calls the service at `url`, or else the one that runs over `data_dir`, or else the default port."""

    def __init__(self, url: str | None, data_dir: Path, *, caller: str | None = None) -> None:
        found = url or running_service(data_dir).get("url") or f"http://127.0.0.1:{DEFAULT_PORT}"
        self._base = found.rstrip("/")
        self._headers = {"x-api-key": caller} if caller else {}

    def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """The decoded answer. Raises CallFailed."""
        try:
            response = httpx.request(method, f"{self._base}{path}", headers=self._headers, timeout=_SECONDS, **request)
            answer: dict[str, Any] = response.json()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CallFailed(
                f"No service answers at {self._base}. Start one with `gleaner serve`, or name one with --url."
            ) from error
        except json.JSONDecodeError as error:
            raise CallFailed(f"What answers at {self._base} is not Gleaner.") from error
        if response.is_error:
            raise CallFailed(f"{answer.get('detail', 'The service failed.')} ({answer.get('type')})")
        return answer
