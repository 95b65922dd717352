"""Asks one case of a service, streamed and whole, and repeats what a passing failure kept from being answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TypeVar

from pydantic import ValidationError

from gleaner.model import new_id
from gleaner_local.clients.http_api import (
    PROBLEM_PREFIX,
    REFUSED,
    ApiClient,
    CallFailed,
    NotServed,
    OutOfReach,
    json_object,
)
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Answer, Exchange, read_parts

_CHAT, _STREAM = "/api/chat/query", "/api/chat/stream"
ATTEMPTS = 4
_FIRST_WAIT, _MAX_WAIT = 1.0, 60.0  # seconds
# What a model makes of a question although everything works: it counts as an answer, and as a wrong one.
_ANSWERS_OF_MODELS = ("mandatory-tool-missing", "answer-rejected", "answer-refused")
_LASTING = ("quota-exceeded",)
_PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504))

T = TypeVar("T")


class NotAsked(Exception):
    """The case got no answer for a reason that says nothing of its quality; the message says why, in one line.

    `is_for_all` is True if no other case will get one either.
    """

    def __init__(self, reason: str, *, is_for_all: bool = False) -> None:
        super().__init__(reason)
        self.is_for_all = is_for_all


class Asker:
    """Asks the service behind `client` and deletes the sessions that arise. `kb_id` is for cases that name none."""

    def __init__(
        self,
        client: ApiClient,
        *,
        kb_id: str | None = None,
        keeps_sessions: bool = False,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._client = client
        self._defaults = {"kb_id": kb_id} if kb_id is not None else {}
        self._keeps_sessions = keeps_sessions
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait

    def stop(self) -> None:
        """Let running questions end as they may, and wait for no repetition."""
        self._stopped.set()

    def ask_streamed(self, case: Case) -> Exchange:
        """Ask the case in a new session, after its earlier turns. Raises NotAsked."""
        return self._in_session(case, self._stream)

    def ask_whole(self, case: Case) -> Exchange:
        """The same by the route that answers at once. Raises NotAsked."""
        return self._in_session(case, self._send)

    def _in_session(self, case: Case, ask: Callable[[dict[str, object]], Exchange]) -> Exchange:
        session: dict[str, object] = {}
        try:
            for turn in case.turns:
                earlier = self._send(self._defaults | case.body(turn) | session)
                if earlier.answer is None:
                    raise NotAsked(f"an earlier turn got no answer: {earlier.problem.get('detail')}")
                session = {"session_id": earlier.answer.session_id}
            exchange = ask(self._defaults | case.body(case.query) | session)
            if exchange.answer is not None and exchange.answer.session_id is not None:
                session = {"session_id": exchange.answer.session_id}
            return exchange
        finally:
            self._delete(session.get("session_id"))

    def _delete(self, session_id: object) -> None:
        if session_id is not None and not self._keeps_sessions:
            with suppress(CallFailed):  # what is left is as harmless as any conversation
                self._client.send("DELETE", f"/api/sessions/{session_id}")

    def _stream(self, body: dict[str, object]) -> Exchange:
        def follow(key: dict[str, str]) -> Exchange:
            exchange = read_parts(self._client.follow(_STREAM, json=body, headers=key))
            if exchange.answer is None and not exchange.problem:
                raise CallFailed(f"{self._client.url} ended a stream without an answer.")
            return exchange

        return self._repeat(follow)

    def _send(self, body: dict[str, object]) -> Exchange:
        def send(key: dict[str, str]) -> Exchange:
            return Exchange(answer=Answer.model_validate(self._client.call("POST", _CHAT, json=body, headers=key)))

        return self._repeat(send)

    def _repeat(self, ask: Callable[[dict[str, str]], Exchange]) -> Exchange:
        """Ask until there is an answer or a failure that will not pass. A repetition is not answered and paid twice."""
        key = {"Idempotency-Key": f"eval-{new_id()}"}
        wait, reason = _FIRST_WAIT, ""
        for attempt in range(1, ATTEMPTS + 1):
            start = time.perf_counter()
            retry_after: float | None = None
            exchange: Exchange | None
            try:
                exchange = ask(key)
            except ValidationError as error:
                raise NotAsked(f"the answer has not the form of Gleaner's ({error.errors()[0]['loc']})") from error
            except CallFailed as error:
                if (exchange := _read_failure(error)) is None:
                    reason, retry_after = str(error), _retry_after(error)
            else:
                exchange.milliseconds = 1000 * (time.perf_counter() - start)
            if exchange is not None:
                if not _is_passing_problem(exchange):
                    return exchange
                reason = f"{exchange.problem.get('detail')} ({exchange.problem.get('type')})"
            if attempt < ATTEMPTS:
                self._sleep(min(_MAX_WAIT, retry_after if retry_after is not None else wait))
                wait *= 2
            if self._stopped.is_set():
                break
        raise NotAsked(f"{reason} It was asked {ATTEMPTS} times.")


def is_answer_of_model(problem: dict[str, object]) -> bool:
    """Whether a problem is what the model made of the question, and no failure of a service."""
    return str(problem.get("type", "")).removeprefix(PROBLEM_PREFIX) in _ANSWERS_OF_MODELS


def _is_passing_problem(exchange: Exchange) -> bool:
    """Whether a problem at the end of a stream may be gone the next time. Raises NotAsked for one that lasts."""
    problem = exchange.problem
    if not problem or is_answer_of_model(problem):
        return False
    detail = f"{problem.get('detail')} ({problem.get('type')})"
    if str(problem.get("type", "")).removeprefix(PROBLEM_PREFIX) in _LASTING:
        raise NotAsked(detail, is_for_all=True)
    if problem.get("status") not in _PASSING:
        raise NotAsked(detail)
    return True


def _read_failure(error: CallFailed) -> Exchange | None:
    """The problem that was answered instead of a stream; None for a failure that passes. Raises NotAsked."""
    if isinstance(error, NotServed):
        raise NotAsked(f"{error} gleaner eval needs a service that does.", is_for_all=True) from error
    if error.response is None:  # nothing came, or it broke off
        return None
    status, problem = error.response.status_code, json_object(error.response)
    if problem.get("type") and problem.get("detail"):
        exchange = Exchange(problem=problem | {"status": status})
        if status == HTTPStatus.UNAUTHORIZED:
            raise NotAsked(str(error), is_for_all=True) from error
        return None if _is_passing_problem(exchange) else exchange
    if status in _PASSING:
        return None
    raise NotAsked(str(error), is_for_all=status not in REFUSED) from error


def _retry_after(error: CallFailed) -> float | None:
    """The seconds that the service asks to wait for."""
    if isinstance(error, OutOfReach) or error.response is None:
        return None
    value = error.response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else None
