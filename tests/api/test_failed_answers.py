"""Answers with a status of 500 or more are counted by the version of the function that gave them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, says, search

UNAVAILABLE = JSONResponse({"error": {"message": "no"}}, status_code=401)
COMPLETION = {"model": "gleaner", "messages": [{"role": "user", "content": "How are duplicates merged?"}]}


@pytest.fixture
def failures(capsys: pytest.CaptureFixture[str]) -> Any:
    """Returns the metrics of failed answers that were written since the last call."""

    def read() -> list[dict[str, Any]]:
        lines = capsys.readouterr().out.splitlines()
        return [json.loads(line) for line in lines if '"FailedAnswers"' in line]

    return read


def test_a_failed_answer_is_counted_once(client: Client, model: ScriptedModel, failures: Any) -> None:
    model.plays(UNAVAILABLE)
    assert client.ask()[0] == 503
    [written] = failures()
    assert (written["FailedAnswers"], written["service"], written["version"]) == ([1], "query", "$LATEST")


def test_answers_refusals_and_errors_of_callers_are_not_counted(
    client: Client, model: ScriptedModel, failures: Any
) -> None:
    model.plays(calls(search()), calls(answer()))
    assert client.ask()[0] == 200
    model.plays(says(None, refusal="No."))
    assert client.ask()[0] == 422
    assert client.request("GET", "/api/nothing")[0] == 404
    assert client.post("/api/chat/query", "no json")[0] == 400
    assert failures() == []


def test_every_door_counts_a_failure_once(client: Client, model: ScriptedModel, failures: Any) -> None:
    model.plays(UNAVAILABLE)
    assert client.post("/v1/chat/completions", COMPLETION)[0] == 503
    assert len(failures()) == 1
    model.plays(UNAVAILABLE)
    client.follow({"query": "How are duplicates merged?"})
    assert len(failures()) == 1


def test_a_stream_that_fails_after_it_began_is_counted_although_its_status_was_200(
    client: Client, model: ScriptedModel, failures: Any
) -> None:
    model.plays(calls(search()), UNAVAILABLE)
    assert client.follow({"query": "How are duplicates merged?"})[0] == 200
    assert len(failures()) == 1
