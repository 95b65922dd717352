"""Checks that answers arrive while they are made: when the first byte comes, and over what time the pieces spread."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

import httpx

from gleaner_local.clients.credentials import Credentials
from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "stream"
_PATH = "/api/chat/stream"
_SECONDS = 180.0
_QUESTION = {"query": "What is this knowledge base about?"}
_LOG = "Look at the log of the query function, which must start with the client that streams (AWS_LAMBDA_EXEC_WRAPPER)."
# What arrives in a shorter time than this share of the whole was held back on its way.
_MIN_SPREAD = 0.05


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When the pieces of a response arrived, in seconds after the request."""

    status: int
    seconds: tuple[float, ...]
    body: bytes

    def describe(self) -> str:
        """The times in one phrase."""
        first, last = self.seconds[0], self.seconds[-1]
        return f"first byte after {first:.2f} s, {len(self.seconds)} pieces over the next {last - first:.2f} s"


def check_stream(url: str, credentials: Credentials, *, ask: bool) -> Iterator[Finding]:
    """Send a question that is refused; with `ask` also one that is answered, which costs money."""
    try:
        refused = _post(url, credentials, {})
        yield _judge_refusal(refused)
        if ask and refused.status == HTTPStatus.BAD_REQUEST:
            answered = _post(url, credentials, _QUESTION)
            _delete_sessions(url, credentials, answered.body)
            yield _judge_answer(answered)
    except httpx.HTTPError as error:
        yield problem(SUBJECT, f"{_PATH} gives no complete answer ({type(error).__name__}).", _LOG)


def _judge_refusal(arrivals: Arrivals) -> Finding:
    """A function that does not answer in the form of streams fails here."""
    if arrivals.status == HTTPStatus.BAD_REQUEST:
        return ok(SUBJECT, f"{_PATH} refuses a question without a text, as it must.")
    return problem(SUBJECT, f"{_PATH} answers a question without a text with HTTP {arrivals.status}.", _LOG)


def _judge_answer(arrivals: Arrivals) -> Finding:
    if arrivals.status != HTTPStatus.OK:
        return problem(SUBJECT, f"{_PATH} answers a question with HTTP {arrivals.status}.", _LOG)
    first, last = arrivals.seconds[0], arrivals.seconds[-1]
    if last - first < _MIN_SPREAD * last:
        text = f"The answer arrives as a whole: {arrivals.describe()}."
        return problem(SUBJECT, text, "Something on its way holds it back: a proxy, or a method that does not stream.")
    return ok(SUBJECT, f"The answer arrives while it is made: {arrivals.describe()}.")


def _post(url: str, credentials: Credentials, question: object) -> Arrivals:
    started_at, seconds, body = time.monotonic(), [], bytearray()
    address = f"{url.rstrip('/')}{_PATH}"
    with httpx.stream("POST", address, json=question, headers=credentials.headers(), timeout=_SECONDS) as response:
        for piece in response.iter_raw():
            seconds.append(time.monotonic() - started_at)
            body += piece
    return Arrivals(response.status_code, tuple(seconds) or (time.monotonic() - started_at,), bytes(body))


def _delete_sessions(url: str, credentials: Credentials, body: bytes) -> None:
    parts = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
    sessions = {part["messageMetadata"]["session_id"] for part in parts if part.get("type") == "start"}
    for session_id in sessions:
        address = f"{url.rstrip('/')}/api/sessions/{session_id}"
        httpx.delete(address, headers=credentials.headers(), timeout=_SECONDS)
