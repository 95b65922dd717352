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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request that was answered: HTTP status, seconds until the headers arrived, and the error's names if any."""

    status: int
    first_byte: float
    code: str = ""
    kind: str = ""  # the error's type
    param: str = ""

    @property
    def failed(self) -> bool:
        """Whether the answer is an error."""
        return self.status >= _FIRST_ERROR

    def describe(self) -> str:
        """Status, code (or else type) and parameter in one phrase."""
        names = (("code", self.code), ("type", "" if self.code else self.kind), ("parameter", self.param))
        return ", ".join((f"HTTP {self.status}", *(f"{name} {value}" for name, value in names if value)))


class HttpLog:
    """The exchanges of one client, which sends one request at a time."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._began = 0.0

    def event_hooks(self) -> dict[str, list[Callable[[Any], None]]]:
        """The hooks for httpx and httpx2. A response hook is called before the body is read."""
        return {"request": [self._begin], "response": [self._add]}

    def _begin(self, _request: Any) -> None:
        self._began = time.monotonic()

    def _add(self, response: Any) -> None:
        seconds, names = time.monotonic() - self._began, {}
        if response.status_code >= _FIRST_ERROR:
            response.read()
            names = _read_names(response)
        self.exchanges.append(Exchange(status=response.status_code, first_byte=seconds, **names))


def describe_times(exchanges: Sequence[Exchange], seconds: float) -> str:
    """The requests of one call, which took `seconds` in all."""
    *earlier, last = exchanges
    before = "".join(f"{exchange.describe()} after {exchange.first_byte:.3f} s, then " for exchange in earlier)
    return f"{before}{last.describe()}: first byte after {last.first_byte:.3f} s, {seconds:.3f} s in all."


def _read_names(response: Any) -> dict[str, str]:
    try:
        body = response.json()
    except ValueError:
        return {}
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body) if isinstance(body, dict) else {}
    fields = error if isinstance(error, dict) else {}
    return {"code": _name(fields.get("code")), "kind": _name(fields.get("type")), "param": _name(fields.get("param"))}


def _name(value: object) -> str:
    text = str(value) if isinstance(value, str | int) else ""
    return text if _NAME.fullmatch(text) else ""
