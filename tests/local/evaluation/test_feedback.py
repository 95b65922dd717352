"""Cases of poor answers, over the real API and its tables."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner_local.aws import ministack
from gleaner_local.evaluation.exchange import read_parts
from gleaner_local.evaluation.feedback import Tables, collect_poor_answers
from tests.conftest import Client
from tests.doubles.event_stream import Reader
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"  # pragma: allowlist secret


@pytest.fixture
def tables(settings: dict[str, str]) -> Tables:
    client = ministack.table_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    return Tables(client, settings["TOOL_CALLS_TABLE"], settings["CONVERSATIONS_TABLE"])


def ask(client: Client, model: ScriptedModel, query: str, **fields: Any) -> dict[str, Any]:
    model.plays(calls(search()), calls(answer()))
    status, body = client.ask(query, **fields)
    assert status == 200
    return dict(body)


def rate(client: Client, body: dict[str, Any], rating: int, comment: str = "") -> None:
    path = f"/api/queries/{body['query_id']}/feedback"
    assert client.post(path, {"rating": rating, "comment": comment})[0] == 200


def test_a_poor_answer_becomes_a_draft_with_its_turns_and_without_secrets(
    client: Client, model: ScriptedModel, tables: Tables
) -> None:
    first = ask(client, model, f"Why does my key {SECRET} fail?")
    second = ask(client, model, "And for mary@example.org?", session_id=first["session_id"])
    rate(client, second, 1, "Call me at mary@example.org.")
    rate(client, first, 5)
    harvest = collect_poor_answers(tables)
    [case] = harvest.cases
    assert (case.query, case.turns) == (
        "And for [redacted: e-mail address]?",
        ("Why does my key [redacted: key] fail?",),
    )
    assert case.draft
    assert case.note == "Rated 1 of 5. Call me at [redacted: e-mail address]."
    assert case.id == f"feedback-{second['query_id']}"


def test_a_selected_text_is_kept_with_its_origin(client: Client, model: ScriptedModel, tables: Tables) -> None:
    text = f"418 steps lead up. The password is {SECRET}."
    fields = {"mode": "selected_text", "selected_text": text, "chapter_origin": "The dome"}
    rate(client, ask(client, model, "How many steps?", **fields), 2)
    [case] = collect_poor_answers(tables).cases
    assert case.chapter_origin == "The dome"
    assert case.selected_text is not None
    assert "418 steps" in case.selected_text
    assert SECRET not in case.selected_text


def test_texts_that_redaction_lengthens_are_cut_and_keep_no_other_case_back(
    client: Client, model: ScriptedModel, tables: Tables
) -> None:
    def fill(length: int) -> str:
        return ("a@b.de, " * length)[:length]

    first = ask(client, model, "Who? " + fill(49_000))
    rate(client, ask(client, model, "Where? " + fill(49_000), session_id=first["session_id"]), 1)
    fields = {"mode": "selected_text", "selected_text": fill(99_000), "chapter_origin": fill(190)}
    rate(client, ask(client, model, "What?", **fields), 1)
    rate(client, ask(client, model, "How are duplicates merged?"), 2)
    harvest = collect_poor_answers(tables)
    assert (harvest.gone, harvest.unusable) == (0, [])
    long, selected, plain = harvest.cases
    assert (len(long.query), [len(turn) for turn in long.turns]) == (50_000, [50_000])
    assert (len(selected.selected_text or ""), len(selected.chapter_origin or "")) == (100_000, 200)
    assert plain.query == "How are duplicates merged?"
    assert "a@b" not in long.query + long.turns[0] + (selected.selected_text or "") + (selected.chapter_origin or "")


def test_a_question_that_makes_no_case_is_named(client: Client, model: ScriptedModel, tables: Tables) -> None:
    body = ask(client, model, "How are duplicates merged?")
    rate(client, body, 1)
    for item in tables.client.scan(TableName=tables.conversations)["Items"]:
        if item["sk"]["S"].startswith("M#") and item.get("role") == {"S": "user"}:
            tables.client.put_item(TableName=tables.conversations, Item=item | {"content": {"S": " "}})
    harvest = collect_poor_answers(tables)
    assert not harvest.cases
    [problem] = harvest.unusable
    assert problem.startswith(f"{body['query_id']}: ")


def test_a_question_that_is_gone_is_counted(client: Client, model: ScriptedModel, tables: Tables, items: Any) -> None:
    body = ask(client, model, "How are duplicates merged?")
    rate(client, body, 1)
    for item in items("CONVERSATIONS_TABLE"):
        if item["sk"].startswith("M#"):
            key = {name: {"S": item[name]} for name in ("pk", "sk")}
            tables.client.delete_item(TableName=tables.conversations, Key=key)
    harvest = collect_poor_answers(tables)
    assert (harvest.cases, harvest.gone) == ([], 1)


def test_the_stream_of_the_real_service_is_read(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    status, parts = client.follow({"query": "How are duplicates merged?"}, reader=Reader())
    exchange = read_parts(parts)
    assert status == 200
    assert exchange.answer is not None
    assert exchange.text == exchange.answer.answer
    assert (exchange.model_calls, exchange.tools) == (2, ["knowledge_base_search", "generate_response"])
    assert exchange.passages[0].source_file_path == "docs/keywords.md"
    assert exchange.answer.cost.input_tokens == 200
