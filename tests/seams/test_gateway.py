"""What API Gateway answers by itself is what the function answers to the same request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import Draft4Validator

from gleaner.api import problems
from tests.conftest import Client
from tests.infra.synthesis import NAMES, one, properties, synthesis


@pytest.mark.parametrize("environment", NAMES)
def test_refusals_are_problems_as_the_function_describes_them(environment: str) -> None:
    for name, problem in _refusals(environment).items():
        problems.Problem.model_validate(problem, strict=True)
        assert set(problem) <= set(problems.Problem.model_fields), name


def test_slugs_that_both_use_have_one_status() -> None:
    kinds = [kind for kind in vars(problems).values() if isinstance(kind, tuple) and len(kind) == 2]
    statuses = {slug: status.value for status, slug in (*kinds, *problems.TABLE.values())}
    shared = {slug for problem in _refusals("dev").values() if (slug := _slug(problem)) in statuses}
    assert {"not-found", "not-allowed", "validation-failed", "payload-too-large", "deadline-exceeded"} <= shared
    for problem in _refusals("dev").values():
        assert statuses.get(_slug(problem), problem["status"]) == problem["status"]


@pytest.mark.parametrize("body", ["", "{", "not JSON", "[]", "1", '"How?"', "null"])
def test_a_body_that_is_no_object_is_refused_alike(client: Client, body: str) -> None:
    assert not _is_taken(body)
    assert _told(_refusals("dev")["BAD_REQUEST_BODY"]) == _told(client.post("/api/chat/query", body)[1])


@pytest.mark.parametrize("body", ["{}", '{"query": ""}', '{"querry": "How?"}', '{"query": 1}'])
def test_the_fields_of_an_object_are_left_to_the_function(client: Client, body: str) -> None:
    assert _is_taken(body)
    errors = client.post("/api/chat/query", body)[1]["errors"]
    assert errors[0]["field"] in ("query", "querry")


def test_a_path_that_does_not_exist_is_refused_alike(client: Client) -> None:
    refusal = _refusals("dev")["MISSING_AUTHENTICATION_TOKEN"]
    assert _told(refusal) == _told(client.request("GET", "/api/nothing")[1])


def _refusals(environment: str) -> dict[str, dict[str, Any]]:
    """The gateway's problems, by type of response."""
    found = properties(synthesis().service[environment], "AWS::ApiGateway::GatewayResponse")
    return {one["ResponseType"]: json.loads(one["ResponseTemplates"]["application/json"]) for one in found}


def _is_taken(body: str) -> bool:
    """Whether the model of the body lets it through."""
    try:
        sent = json.loads(body or "null")
    except ValueError:
        return False
    return Draft4Validator(one(synthesis().service["dev"], "AWS::ApiGateway::Model")["Schema"]).is_valid(sent)


def _slug(problem: dict[str, Any]) -> str:
    return str(problem["type"]).removeprefix(problems.TYPE_PREFIX)


def _told(problem: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in problem.items() if name != "query_id"}
