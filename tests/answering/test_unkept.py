"""Questions that are not kept: what is stored of them, and that their caller finds, rates and erases it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from starlette.responses import JSONResponse

from gleaner.answering.events import Answered, Started
from gleaner.answering.exchange import QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.errors import ModelUnavailable, StoreUnavailable
from gleaner.model import AnswerStatus, new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.wiring import Stores, build_services, build_stores
from tests.answering.asking import ask as ask_for_events
from tests.answering.test_events import outline
from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as search_web
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.keyword_fixtures import heads_of
from tests.stored_items import read_records

Items = Callable[[str], list[dict[str, Any]]]

PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
TABLES = ("CONVERSATIONS_TABLE", "TOOL_CALLS_TABLE", "KEYWORDS_TABLE")


@pytest.fixture
def stores(settings: dict[str, str]) -> Stores:
    return build_stores(Settings.from_env(settings))


@pytest.fixture
def services(settings: dict[str, str], stores: Stores) -> Services:
    return build_services(Settings.from_env(settings), stores)


def ask(services: Services, query: str = "How are duplicates merged?", *, caller: str = "ann", **more: Any) -> str:
    """The id of a question that is not kept."""
    query_id = new_id()
    request = QuestionRequest(query=query, caller_id=f"key:{caller}", **{"is_kept": False} | more)
    answer_question(request, query_id, services, Deadline.after(20))
    return query_id


def learn(services: Services, model: ScriptedModel, web_server: ScriptedWeb) -> str:
    """A question that is not kept, and that teaches a web answer."""
    web_server.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    found = answer("It was released in 2026. [web-1]", ("web-1",))
    model.plays(calls(search()), calls(search_web()), calls(index("starlette release"), found))
    return ask(services, "When was Starlette 1.0 released?")


def test_neither_question_nor_answer_is_stored(services: Services, model: ScriptedModel, items: Items) -> None:
    model.plays(calls(search()), calls(answer()))
    query_id = ask(services)
    [note] = items("CONVERSATIONS_TABLE")
    assert note == {"pk": "O#key:ann", "sk": f"Q#{query_id}", "query_id": query_id, "tool_call_count": 2}
    [item] = items("TOOL_CALLS_TABLE")
    assert "session_id" not in item
    assert [(call.position, call.session_id) for call in read_records(item)] == [(0, None), (1, None)]


def test_its_answer_has_no_session(services: Services, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    events, given = ask_for_events(services, is_kept=False)
    assert given is not None
    assert given.session_id is None
    assert given.message_id == f"{given.query_id}-assistant"
    assert events[0] == Started(query_id=given.query_id, session_id=None)
    assert events[-1] == Answered(answer=given)


def test_its_events_are_those_of_a_question_that_is_kept(
    streaming: Services, model: ScriptedModel, web: ScriptedWeb
) -> None:
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    model.plays(calls(search()), calls(answer()))
    kept, _ = ask_for_events(streaming)
    model.plays(calls(search()), calls(answer()))
    unkept, _ = ask_for_events(streaming, is_kept=False)
    assert outline(unkept) == outline(kept)


def test_the_caller_sees_and_rates_it(
    services: Services, client: Client, model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    query_id = learn(services, model, web)
    status, page = client.request("GET", f"/api/queries/{query_id}/tool-calls", caller="ann")
    assert status == 200
    assert [call["session_id"] for call in page["tool_calls"]] == [None] * 4
    feedback = f"/api/queries/{query_id}/feedback"
    assert client.post(feedback, {"rating": 1, "comment": "wrong"}, caller="ann")[0] == 200
    assert client.request("GET", feedback, caller="ann")[1]["rating"] == 1
    for path in (f"/api/queries/{query_id}/tool-calls", feedback):
        assert client.request("GET", path, caller="bob")[0] == 404
    assert [item["result_id"] for item in items("KEYWORDS_TABLE") if item["pk"] == "DOUBTS"] == [
        item["result_id"] for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"
    ]


def test_what_it_taught_is_found(services: Services, model: ScriptedModel, web: ScriptedWeb, items: Items) -> None:
    learn(services, model, web)
    assert [item["keyword_text"] for item in heads_of(items("KEYWORDS_TABLE"))] == ["starlette release"]
    assert not any("session_id" in item for item in items("KEYWORDS_TABLE"))


def test_erasing_the_caller_leaves_nothing(
    services: Services, client: Client, model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    model.plays(calls(search()), calls(answer()))
    kept_by_bob = ask(services, caller="bob")
    before = {table: items(table) for table in TABLES}
    query_id = learn(services, model, web)
    assert client.post(f"/api/queries/{query_id}/feedback", {"rating": 5}, caller="ann")[0] == 200
    status, report = client.request("DELETE", "/api/callers/key:ann", caller="admin")
    assert (status, report["finished"]) == (200, True)
    counts = ("sessions", "messages", "tool_calls", "ratings", "keywords", "answers")
    assert [report[name] for name in counts] == [0, 0, 4, 1, 1, 1]
    after = {table: [item for item in items(table) if "ann" in str(item)] for table in TABLES}
    assert after == {table: [] for table in TABLES}
    assert items("TOOL_CALLS_TABLE") == before["TOOL_CALLS_TABLE"]
    assert kept_by_bob in str(items("CONVERSATIONS_TABLE"))


def test_a_fallback_answer_teaches_nothing(
    services: Services, model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    unsourced = answer("It was released in 2026.", ())
    model.plays(calls(search()), calls(search_web()), calls(index("starlette release"), unsourced), calls(unsourced))
    _, given = ask_for_events(services, "When was Starlette 1.0 released?", is_kept=False)
    assert given is not None
    assert given.status is AnswerStatus.FALLBACK
    assert "index_keywords" in given.facts.used_tools
    assert heads_of(items("KEYWORDS_TABLE")) == []


def test_a_failed_one_is_noted_like_any_other(
    services: Services, client: Client, model: ScriptedModel, items: Items
) -> None:
    model.plays(calls(search()), JSONResponse({"error": {"message": "no"}}, status_code=401))
    with pytest.raises(ModelUnavailable):
        ask(services)
    [note] = items("CONVERSATIONS_TABLE")
    assert (note["pk"], note["tool_call_count"]) == ("O#key:ann", 1)
    assert client.request("DELETE", "/api/callers/key:ann", caller="admin")[0] == 200
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


def test_an_answer_waits_for_no_more_requests_than_a_kept_one(
    services: Services, stores: Stores, model: ScriptedModel
) -> None:
    sent: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        sent[model.name] += 1

    model.plays(calls(search()), calls(answer()))
    ask(services)  # the accounts of the day exist from now on
    stores.client.meta.events.register("before-call.dynamodb", count)
    numbers = []
    for more in ({"is_kept": True}, {"is_kept": False}, {"is_kept": False, "history": ()}):
        model.plays(calls(search()), calls(answer()))
        sent.clear()
        ask(services, **more)
        numbers.append(dict(sent))
    kept, *others = numbers
    assert kept["TransactWriteItems"] == 1
    for unkept in others:
        # The note takes the place of the transaction.
        assert unkept == {name: n for name, n in kept.items() if name != "TransactWriteItems"} | {"PutItem": 1}
        assert unkept["BatchExecuteStatement"] == 2  # what is reserved; what it cost, with the records of tool calls


def test_a_session_and_no_keeping_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="is kept"):
        QuestionRequest(query="x", caller_id="key:ann", session_id=new_id(), is_kept=False)


def test_a_note_that_cannot_be_written_fails_the_question(
    services: Services, stores: Stores, model: ScriptedModel, settings: dict[str, str]
) -> None:
    def refuse(params: dict[str, Any], **_: Any) -> None:
        if params["TableName"] == settings["CONVERSATIONS_TABLE"]:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "PutItem")

    model.plays(calls(search()), calls(answer()))
    stores.client.meta.events.register("provide-client-params.dynamodb.PutItem", refuse)
    with pytest.raises(StoreUnavailable):
        ask(services)
