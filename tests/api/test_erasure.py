"""Erasing a caller through the API: completeness, reports, permission and continuation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import JSONResponse

from gleaner.answering import question
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.learned_deletion import LearnedDeletion
from gleaner.stores.session_deletion import SessionDeletion
from gleaner_local.aws import ministack
from tests.api.test_learning_modes import PAGE, finds, learn, listed
from tests.conftest import Client, keep_former_form, make_api, open_tool_calls
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_web import ScriptedWeb
from tests.keyword_fixtures import words_of

Items = Callable[[str], list[dict[str, Any]]]

TABLES = ("CONVERSATIONS_TABLE", "TOOL_CALLS_TABLE", "KEYWORDS_TABLE")
OWN = {"ann": "chemistry", "bob": "quantum"}  # a keyword of each caller
COUNTS = ("sessions", "messages", "selected_texts", "tool_calls", "ratings", "keywords", "answers")


def erase(client: Client, caller_id: str = "key:ann", caller: str = "admin") -> tuple[int, Any]:
    return client.request("DELETE", f"/api/callers/{caller_id}", caller=caller)


def counts(report: dict[str, Any]) -> list[int]:
    return [report[name] for name in COUNTS]


def ask_everything(client: Client, model: ScriptedModel, web: ScriptedWeb, caller: str) -> None:
    """Leave a learned answer, a rating, a selected text, an empty session and a failed question."""
    learned = learn(client, model, web, "quantum computing", OWN[caller], caller=caller)
    client.post(f"/api/queries/{learned['query_id']}/feedback", {"rating": 5}, caller=caller)
    client.post("/api/sessions", {}, caller=caller)
    model.plays(calls(search()), calls(answer("So it is. [kb-1]")))
    selection = {"query": "Why?", "mode": "selected_text", "selected_text": f"Selected by {caller}."}
    assert client.post("/api/chat/query", selection, caller=caller)[0] == 200
    model.plays(calls(search()), JSONResponse({"error": {"message": "no"}}, status_code=401))
    assert client.post("/api/chat/query", {"query": "And?"}, caller=caller)[0] == 503


@pytest.mark.parametrize("is_compact", [True, False])
def test_all_that_a_caller_left_is_deleted(
    settings: dict[str, str], client: Client, model: ScriptedModel, web: ScriptedWeb, items: Items, is_compact: bool
) -> None:
    if not is_compact:
        keep_former_form(settings)
    ask_everything(client, model, web, "bob")
    before = {table: len(items(table)) for table in TABLES[:2]}
    ask_everything(client, model, web, "ann")
    status, report = erase(client)
    assert (status, report["finished"], counts(report)) == (200, True, [3, 4, 1, 7, 1, 1, 1])
    assert {table: len(items(table)) for table in TABLES[:2]} == before
    left = [item for table in TABLES for item in items(table)]
    traces = ("ann", schema.caller_hash("key:ann"))
    assert not [item for item in left if any(t in str(item) for t in traces)]
    assert listed(client, "admin") == {"quantum computing", OWN["bob"]}
    assert finds(client, model, "bob")
    assert erase(client)[1] | {"finished": True} == report | dict.fromkeys(COUNTS, 0)


def test_only_admins_erase(client: Client) -> None:
    assert erase(client, caller="ann")[0] == 403
    assert erase(client, caller="ann", caller_id="key:bob")[0] == 403


@pytest.mark.parametrize("caller_id", ["ann", "user:ann", "key:", "key: x"])
def test_what_is_no_caller_is_refused(client: Client, caller_id: str) -> None:
    assert erase(client, quote(caller_id))[0] == 400


def test_an_identity_with_a_slash_is_encoded_twice(client: Client) -> None:
    arn = "iam:arn:aws:iam::111122223333:user/ops"
    for encoded in (quote(arn, safe=":"), quote(quote(arn, safe=":"), safe=":").replace("%25", "%")):
        assert erase(client, encoded)[1]["caller_id"] == arn


@pytest.mark.slow  # waits for the deadline of a question
def test_the_records_of_a_question_that_ran_out_of_time_are_erased(
    settings: dict[str, str], client: Client, model: ScriptedModel, items: Items, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def answer_late(_request: Any) -> Any:
        is_over.wait(60)
        return calls(answer())

    # A busy machine needs more time for the search, and for what is noted after the deadline.
    monkeypatch.setattr(question, "_KEPT_SECONDS", 4.0)
    monkeypatch.setattr(question, "_KEPT_SHARE", 0.5)
    model.plays(calls(search()), answer_late)
    hurried = Client(make_api(settings | {"QUERY_DEADLINE_SECONDS": "12"}))
    status, _ = hurried.post("/api/chat/query", {"query": "x"}, caller="ann")
    is_over.set()
    assert status == 504
    assert items("TOOL_CALLS_TABLE")
    assert erase(client)[0] == 200
    assert items("TOOL_CALLS_TABLE") == []


def test_an_erasure_that_runs_out_of_time_is_continued(
    settings: dict[str, str], client: Client, model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    ask_everything(client, model, web, "ann")
    late = Client(make_api(settings | {"QUERY_DEADLINE_SECONDS": "0.000001"}))
    status, report = erase(late)
    assert (status, report["finished"], sum(counts(report))) == (202, False, 0)
    assert erase(client)[0] == 200
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


def test_a_deletion_of_a_session_that_was_interrupted_is_finished(
    settings: dict[str, str], client: Client, model: ScriptedModel, items: Items
) -> None:
    model.plays(calls(search()), calls(answer()))
    asked = client.post("/api/chat/query", {"query": "x"}, caller="ann")[1]
    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])

    def crash(**_: Any) -> None:
        raise KeyboardInterrupt

    dynamodb.meta.events.register("before-call.dynamodb.BatchWriteItem", crash)
    with pytest.raises(KeyboardInterrupt):
        _deletion(settings, dynamodb).delete(asked["session_id"], "key:ann", deadline=Deadline.after(20))
    assert client.request("GET", "/api/sessions", caller="ann")[1]["sessions"] == []
    assert erase(client)[1]["sessions"] == 1
    assert items("CONVERSATIONS_TABLE") == items("TOOL_CALLS_TABLE") == []


def test_a_question_whose_session_is_deleted_in_the_meantime_teaches_nothing(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, items: Items
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    other_process = Client(make_api(settings | {"LEARNING": "caller"}))
    _, session = client.post("/api/sessions", {}, caller="ann")

    def delete_then_search(_request: Any) -> Any:
        path = f"/api/sessions/{session['session_id']}"
        assert other_process.request("DELETE", path, caller="ann")[0] == 204
        return calls(("perplexity_search", {"query": "quantum"}))

    web.finds("Quantum computing is used for chemistry. [1]", PAGE)
    model.plays(
        calls(search()), delete_then_search, calls(index("quantum computing"), answer("Yes. [web-1]", ("web-1",)))
    )
    question = {"query": "What is quantum computing?", "session_id": session["session_id"]}
    assert client.post("/api/chat/query", question, caller="ann")[0] == 404
    left = items("KEYWORDS_TABLE")
    assert {item["sk"] for item in left} <= {"ANSWER", "SEARCH", "POSTINGS"} and words_of(left) == []
    # The search itself is shared with whoever searches for the same at that moment.
    assert "chemistry" not in str([item for item in left if item["sk"] != "SEARCH"])


def _deletion(settings: dict[str, str], dynamodb: Any) -> SessionDeletion:
    conversations, keywords = (Table(dynamodb, settings[f"{name}_TABLE"]) for name in ("CONVERSATIONS", "KEYWORDS"))
    learned = LearnedDeletion(keywords)
    return SessionDeletion(conversations, open_tool_calls(settings, dynamodb), learned, with_shared=False)
