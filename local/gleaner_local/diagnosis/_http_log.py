"""Times the requests of an HTTP client by its event hooks, and reads what a refusal names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_FIRST_ERROR = 400
# Whatever else a service writes into these fields may quote the request.
_NAME = re.compile(r"[\w.\[\]/-]{1,80}")
_STATUS = re.compile(r"[45]\d\d", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request that was answered: HTTP status, seconds until the headers arrived, and the error's names if any."""

    status: int
    first_byte: float
    has_error: bool = False  # in its body
    code: str = ""
    kind: str = ""  # the error's type
    param: str = ""

    @property
    def failed(self) -> bool:
        """Whether the answer is an error. Some services, such as OpenRouter, send one with HTTP 200."""
        return self.status >= _FIRST_ERROR or self.has_error

    @property
    def meant_status(self) -> int:
        """The HTTP status, or the one that an error with HTTP 200 has as its code."""
        is_status = self.status < _FIRST_ERROR and _STATUS.fullmatch(self.code) is not None
        return int(self.code) if is_status else self.status

    def describe(self) -> str:
        """Status, code (or else type) and parameter in one phrase."""
        names = (("code", self.code), ("type", "" if self.code else self.kind), ("parameter", self.param))
        return ", ".join((f"HTTP {self.status}", *(f"{name} {value}" for name, value in names if value)))


class HttpLog:
    """The exchanges of one client, which sends one request at a time."""

    def __init__(self, *, reads_all: bool = False) -> None:
        """With `reads_all`, errors in answers with HTTP 200 are read, too: not if the client bounds what it reads."""
        self.exchanges: list[Exchange] = []
        self._reads_all = reads_all
        self._began = 0.0

    def event_hooks(self) -> dict[str, list[Callable[[Any], None]]]:
        """The hooks for httpx and httpx2. A response hook is called before the body is read."""
        return {"request": [self._begin], "response": [self._add]}

    def _begin(self, _request: Any) -> None:
        self._began = time.monotonic()

    def _add(self, response: Any) -> None:
        seconds, error = time.monotonic() - self._began, {}
        if self._reads_all or response.status_code >= _FIRST_ERROR:
            response.read()
            error = _read_error(response)
        self.exchanges.append(Exchange(status=response.status_code, first_byte=seconds, **error))


def describe_times(exchanges: Sequence[Exchange], seconds: float) -> str:
    """The requests of one call, which took `seconds` in all."""
    *earlier, last = exchanges
    times = f"{last.describe()}: first byte after {last.first_byte:.3f} s, {seconds:.3f} s in all."
    if not earlier:
        return times
    return f"{len(exchanges)} requests: {'; '.join(map(_describe_earlier, earlier))}; {times}"


def _describe_earlier(exchange: Exchange) -> str:
    outcome = "" if exchange.failed else " without a usable answer"
    return f"{exchange.describe()}{outcome} after {exchange.first_byte:.3f} s"


def _read_error(response: Any) -> dict[str, Any]:
    """What the body names of an error: only fields whose text cannot quote the request."""
    try:
        body = response.json()
    except ValueError:
        return {}
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, dict) or (response.status_code < _FIRST_ERROR and not body.get("error")):
        return {}
    error = body.get("error", body)
    fields = error if isinstance(error, dict) else {}
    names = {"code": _name(fields.get("code")), "kind": _name(fields.get("type")), "param": _name(fields.get("param"))}
    return {"has_error": True} | names


def _name(value: object) -> str:
    text = str(value) if isinstance(value, str | int) else ""
    return text if _NAME.fullmatch(text) else ""
