"""Web search through Perplexity's Agent API, within a time budget and with one bounded retry."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from gleaner.clients._circuit_breaker import CircuitBreaker
from gleaner.clients._retry_after import asked_wait
from gleaner.clients._tls import tls_context
from gleaner.clients.perplexity_answer import UnusableAnswer, WebSearchResult, read_answer
from gleaner.clients.time_limit import run_within
from gleaner.errors import WebSearchUnavailable

__all__ = ["WebSearch", "WebSearchResult", "connect"]

MAX_OUTPUT_TOKENS = 2048
MAX_BODY_BYTES = 4_000_000
# A search takes a second or more: with less than this left a second try only delays the fallback.
SHORTEST_TRY_SECONDS = 2.0
LONGEST_CONNECT_SECONDS = 2.0
# A dead web search costs a question its whole time-out: after some in a row it is tried once a minute.
_FAILURES_IN_A_ROW = 3
_COOL_DOWN_SECONDS = 60.0

_LATE = "The web search did not answer in time."
_LEFT_ALONE = "The web search keeps failing and is left alone for now. Answer without it."
_REASONS = {
    400: "The web search did not accept the request.",
    401: "The web search refused the API key.",
    403: "The web search refused the API key.",
    429: "The web search is over its rate limit.",
}


class _WorthARetry(Exception):
    """A failure that may be gone in a moment: `shown` is what the caller is told if it is not."""

    def __init__(self, shown: str, wait: float) -> None:
        super().__init__(shown)
        self.shown = shown
        self.wait = wait


class _KeyRefused(WebSearchUnavailable):
    """The service refused the API key, as it will the next time."""


class WebSearch:
    """Asks the Agent API one question at a time; safe to share between threads, as the httpx client is."""

    def __init__(
        self,
        http: httpx.Client,
        api_key: Callable[[], str | None],
        *,
        model: str,
        instructions: str,
        circuit: CircuitBreaker,
        retry_wait_seconds: float = 0.5,
    ) -> None:
        """`http` has the base URL, without `/v1`; `api_key` is asked at every request, None: there is no key.

        While `circuit` is open nothing is sent.
        """
        self._http = http
        self._api_key = api_key
        self._model = model
        self._instructions = instructions
        self._circuit = circuit
        self._retry_wait_seconds = retry_wait_seconds

    def configured(self) -> bool:
        """Whether there is a key, so that the web can be searched. Raises what `api_key` raises."""
        return self._api_key() is not None

    def search(self, query: str, *, context: str | None, timeout: float) -> WebSearchResult:
        """The web's answer to `query`; `timeout` is the budget in seconds for everything, the retry included.

        Raises WebSearchUnavailable, with a reason that is safe to show, for anything but a complete answer.
        """
        if timeout <= 0:
            raise WebSearchUnavailable(_LATE)
        if not self._circuit.admits():
            raise WebSearchUnavailable(_LEFT_ALONE)
        try:
            result = self._search_within(timeout, self._body(query, context))
        except UnusableAnswer:
            self._circuit.succeeded()  # the service is there; it found nothing for this question
            raise
        except WebSearchUnavailable as error:
            self._circuit.failed(for_good=isinstance(error, _KeyRefused))
            raise
        self._circuit.succeeded()
        return result

    def _search_within(self, seconds: float, body: Mapping[str, Any]) -> WebSearchResult:
        ends_at = time.monotonic() + seconds
        try:
            # httpx bounds each wait, not their sum: a service that drips could go beyond any budget.
            return run_within(seconds, lambda: self._search(body, ends_at))
        except TimeoutError:
            raise WebSearchUnavailable(_LATE) from None

    def _search(self, body: Mapping[str, Any], ends_at: float) -> WebSearchResult:
        try:
            return read_answer(self._post(body, ends_at))
        except _WorthARetry as failure:
            if ends_at - time.monotonic() < failure.wait + SHORTEST_TRY_SECONDS:
                raise WebSearchUnavailable(failure.shown) from None
            time.sleep(failure.wait)
        try:
            return read_answer(self._post(body, ends_at))
        except _WorthARetry as failure:
            raise WebSearchUnavailable(failure.shown) from None

    def _body(self, query: str, context: str | None) -> dict[str, Any]:
        question = {"type": "message", "role": "user", "content": query}
        background = {"type": "message", "role": "user", "content": f"Background to my question:\n{context}"}
        return {
            "model": self._model,
            "input": [background, question] if context else query,
            "instructions": self._instructions,
            "tools": [{"type": "web_search"}],
            # Without it the model may answer from memory, that is, without sources.
            "tool_choice": {"type": "web_search"},
            "max_output_tokens": MAX_OUTPUT_TOKENS,
        }

    def _post(self, body: Mapping[str, Any], ends_at: float) -> bytes:
        """The body of a 200 answer."""
        left = ends_at - time.monotonic()
        if left <= 0:
            raise WebSearchUnavailable(_LATE)
        connect = min(left / 4, LONGEST_CONNECT_SECONDS)
        limits = httpx.Timeout(left - connect, connect=connect, pool=connect)
        headers = {"Authorization": f"Bearer {self._api_key()}"}
        try:
            with self._http.stream("POST", "/v1/agent", json=body, headers=headers, timeout=limits) as response:
                self._require_ok(response)
                return _read(response, ends_at)
        except (httpx.ConnectTimeout, httpx.NetworkError, httpx.RemoteProtocolError):
            raise _WorthARetry("The web search could not be reached.", self._retry_wait_seconds) from None
        except httpx.TimeoutException:
            raise WebSearchUnavailable(_LATE) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise WebSearchUnavailable("The web search could not be reached.") from None

    def _require_ok(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.OK:
            return
        shown = _REASONS.get(status, f"The web search answered with HTTP status {status}.")
        if status == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
            asked = asked_wait(response.headers)
            raise _WorthARetry(shown, self._retry_wait_seconds if asked is None else asked)
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise _KeyRefused(shown)
        raise WebSearchUnavailable(shown)


def connect(*, base_url: str, api_key: Callable[[], str | None], model: str, instructions: str) -> WebSearch:
    """A web search over a client of its own; nothing is sent yet. `base_url` is without `/v1`."""
    circuit = CircuitBreaker("web search", failures=_FAILURES_IN_A_ROW, cool_down=_COOL_DOWN_SECONDS)
    client = httpx.Client(base_url=base_url, verify=tls_context())
    return WebSearch(client, api_key, model=model, instructions=instructions, circuit=circuit)


def _read(response: httpx.Response, ends_at: float) -> bytes:
    """The whole body; reading ends soon after the caller has given up waiting for it."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if time.monotonic() > ends_at:
            raise WebSearchUnavailable(_LATE)
        if len(body) > MAX_BODY_BYTES:
            raise WebSearchUnavailable("The web search gave an answer that is too large.")
    return bytes(body)
