"""Checks of sessions: turns, history, follow-up questions, deletion."""

from __future__ import annotations

import json
from http import HTTPStatus

from gleaner import text
from gleaner.api.sessions import SessionItem, SessionPage
from gleaner_local.verification._answers import SEARCH
from gleaner_local.verification._probe import CheckFailed, Probe, expect, short

_FOLLOW_UP = "And why is that done?"


def session(probe: Probe, first: str, second: str) -> str:
    """A session keeps two turns in order, page by page, and is gone once it is deleted."""
    session_id = probe.begin_session()
    path = f"/api/sessions/{session_id}"
    turns = [probe.turn(session_id, question) for question in (first, second)]
    expected = [(role, content) for turn in turns for role, content in turn]
    messages = probe.messages(session_id, count=len(expected), page_size=3)
    expect(len(messages) == len(expected), f"the history holds {len(messages)} messages, not {len(expected)}")
    expect(
        [(message.role, message.content) for message in messages] == expected,
        f"the history is not as it was spoken: {', '.join(message.role for message in messages)}",
    )
    counted = probe.call("GET", path, SessionItem).message_count
    expect(counted == len(messages), f"the session counts {counted} messages, not {len(messages)}")
    listed = probe.call("GET", "/api/sessions", SessionPage, params={"limit": "100"}).sessions
    expect(session_id in [item.session_id for item in listed], "the session is not among the caller's")
    probe.delete_session(session_id)
    for gone in (path, f"{path}/messages"):
        probe.refused("GET", gone, HTTPStatus.NOT_FOUND, "unknown-session")
    return f"2 turns, {len(messages)} messages in order, page by page; 404 once it is deleted"


def follow_up(probe: Probe, first: str) -> str:
    """A follow-up question reaches the search with what the conversation speaks of."""
    begun = probe.ask(first)
    answer = probe.ask(_FOLLOW_UP, session_id=begun.session_id)
    expect(answer.session_id == begun.session_id, "the answer is in another session")
    searched = " ".join(_searches(probe, answer.query_id, answer.tool_call_count))
    carried = set(text.stems(searched)) & (set(text.stems(first)) - set(text.stems(_FOLLOW_UP)))
    expect(bool(carried), f"searched for {short(searched)}, without what was spoken of")
    return f"{short(_FOLLOW_UP)} searched for {short(searched)}"


def deletion(probe: Probe) -> str:
    """The sessions that the other checks began are deleted."""
    count = len(probe.sessions)
    for session_id in list(probe.sessions):
        probe.delete_session(session_id)
    return f"{count} sessions of these checks"


def _searches(probe: Probe, query_id: str, count: int) -> list[str]:
    """The queries of a question's searches."""
    calls = [call for call in probe.tool_calls(query_id, count) if call.tool_name == SEARCH]
    try:
        return [str(json.loads(call.parameters)["query"]) for call in calls]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckFailed(f"the parameters of {SEARCH} cannot be read") from error
