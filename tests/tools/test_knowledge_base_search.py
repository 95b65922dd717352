"""Which knowledge base a search of the model goes to, and which it may name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.model import Record
from tests.conftest import Client, limit_callers, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

OTHER = "other_kb"
FOREIGN = "foreign_kb"
GOOD = calls(answer())


@pytest.fixture
def client(settings: dict[str, str]) -> Client:
    """The API for a caller of two knowledge bases, beside a third one."""
    knowledge_bases = pinecone.connect(host=settings["PINECONE_INDEX_HOST"], api_key=lambda: "k")
    for kb_id in (OTHER, FOREIGN):
        record = Record(
            id="d#0",
            text=f"Text of {kb_id}.",
            title="T",
            source_file_path="d.md",
            chunk_index=0,
            content_hash="h",
        )
        knowledge_bases.upsert(kb_id, [record], timeout=20)
    limit_callers(settings, {"key:local": ["default_kb", OTHER], "key:single": ["default_kb"]})
    client = Client(make_api(settings))
    for caller in ("local", "single"):  # so that the first turn knows what they may use
        client.request("GET", "/api/documents", caller=caller)
    return client


def parameters(model: ScriptedModel, turn: int = 0) -> dict[str, Any]:
    """The parameters of the search as the model saw them."""
    properties: dict[str, Any] = model.requests[turn]["tools"][0]["function"]["parameters"]["properties"]
    return properties


def last_result(model: ScriptedModel) -> dict[str, Any]:
    """The result of the model's latest call."""
    result: dict[str, Any] = json.loads(model.requests[-1]["messages"][-1]["content"])
    return result


@pytest.mark.parametrize(("caller", "values"), [("local", ["default_kb", OTHER]), ("single", None), ("mary", None)])
def test_kb_id_is_offered_to_callers_of_several(
    client: Client, model: ScriptedModel, caller: str, values: list[str] | None
) -> None:
    model.plays(calls(search()), GOOD)
    assert client.post("/api/chat/query", {"query": "How are duplicates merged?"}, caller=caller)[0] == 200
    assert parameters(model).get("kb_id", {}).get("enum") == values


def test_kb_id_is_offered_with_the_second_turn_at_the_latest(
    client: Client, settings: dict[str, str], model: ScriptedModel
) -> None:
    model.plays(calls(search()), GOOD)
    assert Client(make_api(settings)).ask()[0] == 200
    assert parameters(model, turn=1)["kb_id"]["enum"] == ["default_kb", OTHER]


def test_another_knowledge_base_of_the_caller_is_searched(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search("text", kb_id=OTHER)), calls(answer("It is there. [kb-1]")))
    assert client.ask()[0] == 200
    assert [chunk["content"] for chunk in last_result(model)["chunks"]] == [f"Text of {OTHER}."]


@pytest.mark.parametrize("kb_id", ["kb-1", "null", "", None, "the handbook", 7, ["default_kb"], "no_such_kb"])
def test_an_invented_id_means_the_knowledge_base_of_the_question(
    client: Client, model: ScriptedModel, kb_id: Any
) -> None:
    model.plays(calls(search("merging keywords", kb_id=kb_id)), GOOD)
    assert client.ask()[0] == 200
    assert last_result(model)["kb_id"] == "default_kb"
    assert last_result(model)["chunks"]


def test_a_knowledge_base_that_the_caller_may_not_use_is_refused(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search("text", kb_id=FOREIGN)), calls(search()), GOOD)
    assert client.ask()[0] == 200
    refused = next(m for m in model.requests[1]["messages"] if m["role"] == "tool")
    assert json.loads(refused["content"])["error"]["message"].startswith("Only the knowledge base")
    assert f"Text of {FOREIGN}" not in json.dumps(model.requests)


@pytest.mark.parametrize("top_k", [0, 100, -3, "7", "many", None, 2.6, float("1e300"), [3]])
def test_any_number_of_passages_is_a_search(client: Client, model: ScriptedModel, top_k: Any) -> None:
    model.plays(calls(search("keywords", top_k=top_k)), GOOD)
    assert client.ask()[0] == 200
    assert 1 <= len(last_result(model)["chunks"]) <= 20
