"""Checks of sessions: turns, history, follow-up questions, deletion."""

from __future__ import annotations

import json
from http import HTTPStatus

from gleaner import text
from gleaner.api.sessions import SessionItem, SessionPage
from gleaner_local.verification._answers import SEARCH
from gleaner_local.verification._probe import CheckFailed, Probe, expect, short

_FOLLOW_UP = "And why is that done?"


def check_session(probe: Probe, first: str, second: str) -> str:
    """A session keeps two turns in order, page by page, and no longer exists once it is deleted."""
    session_id = probe.create_session()
    path = f"/api/sessions/{session_id}"
    turns = [probe.take_turn(session_id, question) for question in (first, second)]
    expected = [(role, content) for turn in turns for role, content in turn]
    messages = probe.read_messages(session_id, count=len(expected), page_size=3)
    expect(len(messages) == len(expected), f"the history holds {len(messages)} messages, not {len(expected)}")
    expect(
        [(message.role, message.content) for message in messages] == expected,
        f"the history differs from the conversation: {', '.join(message.role for message in messages)}",
    )
    count = probe.call("GET", path, SessionItem).message_count
    expect(count == len(messages), f"the session counts {count} messages, not {len(messages)}")
    own_sessions = probe.call("GET", "/api/sessions", SessionPage, params={"limit": "100"}).sessions
    expect(session_id in [item.session_id for item in own_sessions], "the session is not among the caller's")
    probe.delete_session(session_id)
    for deleted_path in (path, f"{path}/messages"):
        probe.expect_refusal("GET", deleted_path, HTTPStatus.NOT_FOUND, "unknown-session")
    return f"2 turns, {len(messages)} messages in order, page by page; 404 after its deletion"


def check_follow_up(probe: Probe, first: str) -> str:
    """A follow-up question is searched for together with the topic of the conversation."""
    opening = probe.ask(first)
    answer = probe.ask(_FOLLOW_UP, session_id=opening.session_id)
    expect(answer.session_id == opening.session_id, "the answer is in another session")
    queries = " ".join(_read_search_queries(probe, answer.query_id, answer.tool_call_count))
    topic_stems = set(text.stems(queries)) & (set(text.stems(first)) - set(text.stems(_FOLLOW_UP)))
    expect(bool(topic_stems), f"searched for {short(queries)}, without the topic of the conversation")
    return f"{short(_FOLLOW_UP)} searched for {short(queries)}"


def check_deletion(probe: Probe) -> str:
    """The sessions that the other checks created are deleted."""
    count = len(probe.sessions)
    for session_id in list(probe.sessions):
        probe.delete_session(session_id)
    return f"{count} sessions of these checks"


def _read_search_queries(probe: Probe, query_id: str, count: int) -> list[str]:
    """The queries with which a question was searched for."""
    calls = [call for call in probe.read_tool_calls(query_id, count) if call.tool_name == SEARCH]
    try:
        return [str(json.loads(call.parameters)["query"]) for call in calls]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckFailed(f"the parameters of {SEARCH} cannot be read") from error
