"""Look-ups of tool calls by session, tool and status; test_sessions has those by query."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest

from gleaner.api import _cursors
from gleaner.model import utc_now
from tests.conftest import Client, allow_compact_form, keep_former_form, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result

ALL = "/api/tool-calls"


def get(client: Client, path: str, caller: str = "local") -> tuple[int, Any]:
    path, _, text = path.partition("?")
    query = {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}
    return client.request("GET", path, caller=caller, queryStringParameters=query)


def all_pages(client: Client, path: str, caller: str) -> list[str]:
    """The query ids of all calls on all pages."""
    query_ids, cursor = [], ""
    while True:
        status, page = get(client, f"{path}{'&' if '?' in path else '?'}limit=2{cursor}", caller)
        assert status == 200 and len(page["tool_calls"]) <= 2
        query_ids += [call["query_id"] for call in page["tool_calls"]]
        if page["next_cursor"] is None:
            return query_ids
        cursor = f"&cursor={page['next_cursor']}"


@pytest.fixture(params=["compact", "former", "first former, then compact"])
def answers(
    settings: dict[str, str], client: Client, model: ScriptedModel, request: pytest.FixtureRequest
) -> list[dict[str, Any]]:
    """Three answers: two in a session of `local`, and one of `mary` whose first search was rejected.

    The forms of the items of their tool calls differ.
    """
    bodies: list[dict[str, Any]] = []
    if "former" in request.param:
        keep_former_form(settings)
    for caller, is_rejected in (("local", False), ("local", False), ("mary", True)):
        if bodies and "then compact" in request.param:
            allow_compact_form(settings)
        rejected_turns = [calls(search(""))] if is_rejected else []
        model.plays(*rejected_turns, calls(search()), calls(answer()))
        body = {"query": "How are duplicates merged?"}
        if caller == "local" and bodies:
            body["session_id"] = bodies[0]["session_id"]
        status, response = client.post("/api/chat/query", body, caller=caller)
        assert status == 200
        bodies.append(response)
    return bodies


def test_tool_calls_of_a_session_are_shown_to_its_owner_newest_first(client: Client, answers: Any) -> None:
    path = f"/api/sessions/{answers[0]['session_id']}/tool-calls"
    first, second, _ = (body["query_id"] for body in answers)
    assert all_pages(client, path, "local") == [second, second, first, first]
    for caller in ("mary", "admin"):
        status, problem = get(client, path, caller)
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-session")
    client.request("DELETE", f"/api/sessions/{answers[0]['session_id']}")
    assert get(client, path)[0] == 404


def test_pages_of_calls_end_anywhere_in_a_question(client: Client, answers: Any) -> None:
    path = f"/api/sessions/{answers[0]['session_id']}/tool-calls"
    for size in (1, 3):
        told, cursor = [], ""
        while True:
            page = get(client, f"{path}?limit={size}{cursor}")[1]
            told += [(call["query_id"], call["tool_name"]) for call in page["tool_calls"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        tools = ("generate_response", "knowledge_base_search")
        assert told == [(body["query_id"], tool) for body in (answers[1], answers[0]) for tool in tools]


@pytest.mark.parametrize("announced", [None, timedelta(days=3)])
def test_items_have_the_former_form_until_no_earlier_version_runs(
    settings: dict[str, str], client: Client, model: ScriptedModel, items: Any, announced: timedelta | None
) -> None:
    keep_former_form(settings)
    if announced is not None:
        allow_compact_form(settings, utc_now() + announced)
    model.plays(calls(search()), calls(answer()))
    assert client.ask()[0] == 200
    assert [item["status"].partition("#")[0] for item in items("TOOL_CALLS_TABLE")] == ["success", "success"]
    allow_compact_form(settings)
    model.plays(calls(search()), calls(answer()))
    compact = Client(make_api(settings)).ask()[1]
    [item] = [item for item in items("TOOL_CALLS_TABLE") if item["pk"] == f"Q#{compact['query_id']}"]
    assert set(item) == {"pk", "sk", "session_id", "owner", "tool_name", "created_at", "calls"}


def test_a_record_tells_what_was_found_and_what_it_cost(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    web.finds(
        "Starlette was released in 2026 [1].", result(1, "https://starlette.dev/release", "Release notes", "n" * 9999)
    )
    assert isinstance(web.reply, dict)
    web.reply["usage"]["cost"] = {"currency": "USD", "total_cost": 0.0061}
    model.plays(
        calls(search("")),
        calls(search()),
        calls(web_search()),
        calls(index("Starlette release"), answer("Starlette was released in 2026. [web-1]", ("web-1",))),
    )
    _, body = client.ask()
    records = get(client, f"/api/queries/{body['query_id']}/tool-calls")[1]["tool_calls"]
    told = [(call["tool_name"], call["result_count"], call["found"], call["cost_usd"]) for call in records]
    assert told == [
        ("knowledge_base_search", None, [], None),
        ("knowledge_base_search", 2, ["Keywords", "Keywords"], None),
        ("perplexity_search", 1, ["Release notes"], 0.0061),
        ("index_keywords", 1, [], None),
        ("generate_response", 1, ["Release notes"], None),
    ]


def test_tool_calls_by_tool_or_status_are_shown_to_admins(client: Client, answers: Any) -> None:
    first, second, third = (body["query_id"] for body in answers)
    assert all_pages(client, f"{ALL}?tool_name=generate_response", "admin") == [third, second, first]
    assert all_pages(client, f"{ALL}?status=error", "admin") == [third]
    assert len(all_pages(client, f"{ALL}?status=success", "admin")) == 6
    assert all_pages(client, f"{ALL}?tool_name=perplexity_search", "admin") == []
    for caller in ("local", "mary"):
        assert get(client, f"{ALL}?status=error", caller)[0] == 403


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?tool_name=a&status=error",
        "?status=lost",
        "?tool_name=",
        f"?tool_name={'x' * 201}",
        "?status=error&cursor=x",
    ],
)
def test_invalid_lookups_are_refused(client: Client, query: str) -> None:
    status, problem = get(client, f"{ALL}{query}", "admin")
    assert status == 400 and problem["detail"]


@pytest.mark.parametrize("query", ["", "?tool_name=a&status=error"])
def test_both_parameters_are_named_unless_exactly_one_is_sent(client: Client, query: str) -> None:
    _, problem = get(client, f"{ALL}{query}", "admin")
    assert problem["type"] == "urn:gleaner:problem:validation-failed"
    assert [error["field"] for error in problem["errors"]] == ["tool_name", "status"]
    assert all("either" in error["message"] for error in problem["errors"])


def test_a_cursor_is_only_valid_for_its_own_list(client: Client, answers: Any) -> None:
    cursor = get(client, f"{ALL}?status=success&limit=1", "admin")[1]["next_cursor"]
    assert get(client, f"{ALL}?tool_name=success&cursor={cursor}", "admin")[0] == 400
    assert get(client, f"/api/sessions/{answers[0]['session_id']}/tool-calls?cursor={cursor}")[0] == 400


@pytest.mark.parametrize("position", ["A", "Z", "FEEDBACK", "C#\uffff\uffff", "\x00", "", "\ud800"])
def test_a_forged_cursor_reveals_nothing_and_breaks_nothing(client: Client, answers: Any, position: str) -> None:
    query_id, session_id = answers[0]["query_id"], answers[0]["session_id"]
    client.post(f"/api/queries/{query_id}/feedback", {"rating": 4})
    lists = {
        f"/api/queries/{query_id}/tool-calls": (("tool-calls", query_id, "key:local"), 1),
        f"/api/sessions/{session_id}/tool-calls": (("tool-calls", "by_session", session_id, "key:local"), 3),
    }
    for path, (scope, length) in lists.items():
        status, page = get(client, f"{path}?cursor={_cursors.encode((position,) * length, scope=scope)}")
        if status == 200:
            assert {call["session_id"] for call in page["tool_calls"]} <= {session_id}
        else:
            assert (status, page["type"]) == (400, "urn:gleaner:problem:invalid-cursor")
