"""Checks of what the service must refuse, and how."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from gleaner.api.sessions import SessionItem
from gleaner.model import new_id
from gleaner_local.verification._probe import Probe

_CHAT = "/api/chat/query"
_JSON = {"content-type": "application/json"}
_BAD: tuple[dict[str, Any], ...] = (
    {"json": {"query": ""}},
    {"json": {"query": "What?", "no_such_field": 1}},
    {"json": {"query": 7}},
    {"json": {"query": "What?", "mode": "selected_text"}},
    {"json": {"query": "What?", "kb_id": "../secrets"}},
    {"content": b'{"query": ', "headers": _JSON},
    {"content": b"", "headers": _JSON},
)


def bad_input(probe: Probe) -> str:
    """What is not a valid question is a 400, told as a problem document."""
    for request in _BAD:
        probe.refused("POST", _CHAT, HTTPStatus.BAD_REQUEST, **request)
    return f"{len(_BAD)} bad requests, each a 400 with a problem document"


def foreign(probe: Probe, other: Probe, question: str) -> str:
    """What belongs to somebody else is a 404, the same as what does not exist."""
    mine = probe.ask(question)
    for session_id in (mine.session_id, new_id()):
        path = f"/api/sessions/{session_id}"
        missing = HTTPStatus.NOT_FOUND, "unknown-session"
        other.refused("GET", path, *missing)
        other.refused("GET", f"{path}/messages", *missing)
        other.refused("POST", f"{path}/chat", *missing, json={"query": question})
        other.refused("DELETE", path, *missing)
    for query_id in (mine.query_id, new_id()):
        other.refused("GET", f"/api/queries/{query_id}/tool-calls", HTTPStatus.NOT_FOUND, "unknown-query")
    probe.call("GET", f"/api/sessions/{mine.session_id}", SessionItem)  # the attempt to delete it did nothing
    return "404 for its turns, history, deletion and tool calls, as for one that does not exist"
