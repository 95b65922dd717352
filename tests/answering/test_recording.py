"""The records of a question's tool calls: how they are written when it ends, and that no fault writes them twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gleaner.answering.exchange import QuestionRequest
from gleaner.answering.question import answer_question
from gleaner.model import Mode, new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.wiring import Stores, build_services, build_stores
from tests.conftest import keep_former_form
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.stored_items import read_records

CALLS = ["knowledge_base_search", "generate_response"]


def open_stores(settings: dict[str, str]) -> Stores:
    return build_stores(Settings.from_env(settings))


def ask(settings: dict[str, str], stores: Stores, model: ScriptedModel, **more: Any) -> str:
    """The id of a question with two calls."""
    model.plays(calls(search()), calls(answer()))
    query_id = new_id()
    request = QuestionRequest(query="How are duplicates merged?", caller_id="key:ann", **more)
    services = build_services(Settings.from_env(settings), stores)
    answer_question(request, query_id, services, Deadline.after(20))
    return query_id


def recorded(items: Any) -> list[str]:
    """The tools of the calls of all items."""
    found = sorted(items("TOOL_CALLS_TABLE"), key=lambda item: str(item["sk"]))
    return [call.tool_name for item in found for call in read_records(item)]


@pytest.mark.parametrize("is_compact", [True, False])
def test_records_are_written_alone_where_statements_are_not_allowed(
    settings: dict[str, str], model: ScriptedModel, items: Any, is_compact: bool
) -> None:
    if not is_compact:
        keep_former_form(settings)
    stores = open_stores(settings)
    refusal: Any = SimpleNamespace(status_code=400), {"Error": {"Code": "AccessDeniedException"}}
    events: Any = stores.client.meta.events
    events.register("before-call.dynamodb.BatchExecuteStatement", lambda **_: refusal)
    ask(settings, stores, model)
    assert recorded(items) == CALLS


@pytest.mark.parametrize("error", ["ThrottlingError", "InternalServerError"])
def test_a_statement_whose_fate_is_not_known_leaves_one_record(
    settings: dict[str, str], model: ScriptedModel, items: Any, error: str
) -> None:
    def forget(parsed: Any, **_: Any) -> None:
        parsed["Responses"] = [{"Error": {"Code": error}} for _ in parsed["Responses"]]

    stores = open_stores(settings)
    stores.client.meta.events.register("after-call.dynamodb.BatchExecuteStatement", forget)
    ask(settings, stores, model)
    assert recorded(items) == CALLS


def test_a_lost_response_leaves_one_record(
    settings: dict[str, str], faulty: FaultyStore, model: ScriptedModel, items: Any
) -> None:
    through_proxy = settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}
    stores = open_stores(through_proxy)
    lost: list[bool] = []

    def is_first_closing(call: Any, _: int) -> bool:
        if call.operation == "BatchExecuteStatement" and settings["TOOL_CALLS_TABLE"] in call.tables:
            lost.append(True)
        return len(lost) == 1 and call.operation == "BatchExecuteStatement"

    faulty.fails("lost", is_first_closing)
    ask(through_proxy, stores, model)
    assert faulty.fault_count == 1
    assert recorded(items) == CALLS


@pytest.mark.parametrize("how", ["error", "down", "throttled", "hangs"])
def test_records_have_the_former_form_where_nothing_says_whether_they_may_be_compact(
    settings: dict[str, str], faulty: FaultyStore, model: ScriptedModel, items: Any, how: Any
) -> None:
    """A question about a selected text looks up no keywords, so its process has not read what the table says."""
    through_proxy = settings | {"AWS_ENDPOINT_URL_DYNAMODB": faulty.url}
    stores = open_stores(through_proxy)
    faulty.fails(how, lambda call, _: settings["KEYWORDS_TABLE"] in call.tables)
    selection: dict[str, Any] = {"mode": Mode.SELECTED_TEXT, "selected_text": "Duplicates are merged."}
    ask(through_proxy, stores, model, **selection)
    assert recorded(items) == CALLS
    assert len(items("TOOL_CALLS_TABLE")) == len(CALLS)
    faulty.heals()
    again = ask(through_proxy, stores, model, **selection)
    assert len([item for item in items("TOOL_CALLS_TABLE") if item["pk"] == f"Q#{again}"]) == 1
