"""Checks of the requests that the service must refuse, and of its refusals."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from gleaner.api.sessions import SessionItem
from gleaner.model import new_id
from gleaner_local.verification._probe import Probe

_CHAT = "/api/chat/query"
_JSON = {"content-type": "application/json"}
_BAD_REQUESTS: tuple[dict[str, Any], ...] = (
    {"json": {"query": ""}},
    {"json": {"query": "What?", "no_such_field": 1}},
    {"json": {"query": 7}},
    {"json": {"query": "What?", "mode": "selected_text"}},
    {"json": {"query": "What?", "kb_id": "../secrets"}},
    {"content": b'{"query": ', "headers": _JSON},
    {"content": b"", "headers": _JSON},
)


def check_bad_input(probe: Probe) -> str:
    """An invalid question is refused with status 400 and a problem document."""
    for request in _BAD_REQUESTS:
        probe.expect_refusal("POST", _CHAT, HTTPStatus.BAD_REQUEST, **request)
    return f"{len(_BAD_REQUESTS)} bad requests, each a 400 with a problem document"


def check_other_caller(probe: Probe, other: Probe, question: str) -> str:
    """Another caller's sessions and queries are a 404, like those that do not exist."""
    answer = probe.ask(question)
    for session_id in (answer.session_id, new_id()):
        path = f"/api/sessions/{session_id}"
        missing = HTTPStatus.NOT_FOUND, "unknown-session"
        other.expect_refusal("GET", path, *missing)
        other.expect_refusal("GET", f"{path}/messages", *missing)
        other.expect_refusal("POST", f"{path}/chat", *missing, json={"query": question})
        other.expect_refusal("DELETE", path, *missing)
    for query_id in (answer.query_id, new_id()):
        other.expect_refusal("GET", f"/api/queries/{query_id}/tool-calls", HTTPStatus.NOT_FOUND, "unknown-query")
    probe.call("GET", f"/api/sessions/{answer.session_id}", SessionItem)  # it must not have been deleted
    return "404 for turns, history, deletion and tool calls, as for a session that does not exist"
