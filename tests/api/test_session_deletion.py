"""What is deleted with a session: tool call records and feedback, of answered and of failed questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner.model import new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.learned_deletion import LearnedDeletion
from gleaner.stores.session_deletion import SessionDeletion
from gleaner.stores.tool_calls import ToolCallRecord, ToolCallStore, to_items
from gleaner_local.aws import ministack
from tests.conftest import Client, keep_former_form, make_api, open_tool_calls
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

Items = Callable[[str], list[dict[str, Any]]]

NO_MODEL = JSONResponse({"error": {"message": "no"}}, status_code=401)


@pytest.fixture
def tool_calls(settings: dict[str, str]) -> ToolCallStore:
    return open_tool_calls(settings)


@pytest.fixture(params=["compact", "former"])
def form(settings: dict[str, str], request: pytest.FixtureRequest) -> str:
    """The form of the items that are written of tool calls."""
    if request.param == "former":
        keep_former_form(settings)
    return str(request.param)


@pytest.fixture
def session(form: str, client: Client, model: ScriptedModel) -> str:
    """A session of `local` with a rated answer, and a question that ended in an error."""
    model.plays(calls(search()), calls(answer()))
    answered = client.ask()[1]
    assert client.post(f"/api/queries/{answered['query_id']}/feedback", {"rating": 1, "comment": "c"})[0] == 200
    model.plays(calls(search()), NO_MODEL)
    assert client.ask(session_id=answered["session_id"])[0] == 503
    return str(answered["session_id"])


def delete(client: Client, session_id: str, caller: str = "local") -> int:
    return client.request("DELETE", f"/api/sessions/{session_id}", caller=caller)[0]


def test_records_and_feedback_are_deleted_with_their_session(
    client: Client, model: ScriptedModel, session: str, items: Items, form: str
) -> None:
    model.plays(calls(search()), calls(answer()))
    other = client.ask()[1]
    client.post(f"/api/queries/{other['query_id']}/feedback", {"rating": 5})
    calls_and_rating = 1 + 1 if form == "compact" else 2 + 1
    assert len(items("TOOL_CALLS_TABLE")) == calls_and_rating + 1 + calls_and_rating
    assert delete(client, session) == 204
    assert {item["pk"] for item in items("TOOL_CALLS_TABLE")} == {f"Q#{other['query_id']}"}
    assert len(items("TOOL_CALLS_TABLE")) == calls_and_rating
    page = client.request("GET", "/api/tool-calls", caller="admin", queryStringParameters={"status": "success"})[1]
    assert {call["session_id"] for call in page["tool_calls"]} == {other["session_id"]}


def test_another_caller_deletes_no_records(
    client: Client, session: str, items: Items, tool_calls: ToolCallStore
) -> None:
    before = sorted(map(str, items("TOOL_CALLS_TABLE")))
    assert delete(client, session, "somebody") == 404
    with pytest.raises(ConditionFailed):
        tool_calls.delete_for_session(session, "key:somebody", deadline=Deadline.after(20))
    assert sorted(map(str, items("TOOL_CALLS_TABLE"))) == before


def test_records_of_a_turn_missing_from_the_session_index_are_deleted(
    settings: dict[str, str], client: Client, model: ScriptedModel, items: Items
) -> None:
    model.plays(calls(search()), calls(answer()))
    turn = client.ask()[1]
    client.post(f"/api/queries/{turn['query_id']}/feedback", {"rating": 1})
    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    for item in items("TOOL_CALLS_TABLE"):  # without a session id, they are not in the session index
        dynamodb.update_item(
            TableName=settings["TOOL_CALLS_TABLE"],
            Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}},
            UpdateExpression="REMOVE session_id",
        )
    assert delete(client, turn["session_id"]) == 204
    assert items("TOOL_CALLS_TABLE") == []


@pytest.mark.parametrize("write", range(1, 6))
def test_a_deletion_interrupted_before_any_write_can_be_repeated(
    settings: dict[str, str], client: Client, session: str, items: Items, write: int
) -> None:
    writes = 0

    def crash(**_: Any) -> None:
        nonlocal writes
        writes += 1
        if writes == write:
            raise KeyboardInterrupt

    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    for operation in ("TransactWriteItems", "BatchWriteItem"):
        dynamodb.meta.events.register(f"before-call.dynamodb.{operation}", crash)
    with pytest.raises(KeyboardInterrupt):
        SessionDeletion(
            Table(dynamodb, settings["CONVERSATIONS_TABLE"]),
            open_tool_calls(settings, dynamodb),
            LearnedDeletion(Table(dynamodb, settings["KEYWORDS_TABLE"])),
            with_shared=False,
        ).delete(session, "key:local", deadline=Deadline.after(20))
    assert items("CONVERSATIONS_TABLE")
    assert delete(client, session) == 204
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


@pytest.mark.parametrize("end", [calls(answer()), NO_MODEL])
def test_a_question_whose_session_is_deleted_in_the_meantime_leaves_no_records(
    settings: dict[str, str], client: Client, model: ScriptedModel, session: str, items: Items, end: Any
) -> None:
    other_process = Client(make_api(settings))

    def delete_then_reply(_request: Any) -> Any:
        assert delete(other_process, session) == 204
        return end

    model.plays(calls(search()), delete_then_reply)
    assert client.ask(session_id=session)[0] in (404, 503)
    assert items("TOOL_CALLS_TABLE") == items("CONVERSATIONS_TABLE") == []


def test_a_failed_question_keeps_its_records_if_its_session_remains(
    client: Client, model: ScriptedModel, session: str
) -> None:
    model.plays(calls(search()), NO_MODEL)
    status, problem = client.ask(session_id=session)
    assert status == 503
    page = client.request("GET", f"/api/queries/{problem['query_id']}/tool-calls")[1]
    assert [call["tool_name"] for call in page["tool_calls"]] == ["knowledge_base_search"]


def test_records_of_many_queries_are_deleted(
    client: Client, session: str, items: Items, tool_calls: ToolCallStore, form: str
) -> None:
    before = len(items("TOOL_CALLS_TABLE"))
    for _ in range(40):
        query_id = new_id()
        records = [
            ToolCallRecord(
                query_id=query_id,
                session_id=session,
                owner="key:local",
                position=position,
                tool_call_id="call",
                tool_name="knowledge_base_search",
                parameters="{}",
                result="{}",
                status="success",
                error_message=None,
                duration_ms=1.0,
                retry_count=0,
                created_at=utc_now(),
            )
            for position in range(3)
        ]
        for item in to_items(records, is_compact=form == "compact"):
            tool_calls.record(item, deadline=Deadline.after(20))
    assert len(items("TOOL_CALLS_TABLE")) - before == (40 if form == "compact" else 120)
    assert delete(client, session) == 204
    assert items("TOOL_CALLS_TABLE") == []
