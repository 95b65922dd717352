"""API Gateway itself answers a request as the function would."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import Draft4Validator

from gleaner.api import problems
from gleaner.api.protocols import openai_errors
from tests.conftest import Client
from tests.infra.synthesis import NAMES, one, properties, synthesis


@pytest.mark.parametrize("environment", NAMES)
def test_gateway_errors_are_valid_problems_of_the_function(environment: str) -> None:
    for name, problem in _gateway_errors(environment).items():
        problems.Problem.model_validate(problem, strict=True)
        assert set(problem) - {"error"} <= set(problems.Problem.model_fields), name


def test_a_slug_has_the_same_status_in_both() -> None:
    kinds = [kind for kind in vars(problems).values() if isinstance(kind, tuple) and len(kind) == 2]
    statuses = {slug: status.value for status, slug in (*kinds, *problems.TABLE.values())}
    shared = {slug for problem in _gateway_errors("dev").values() if (slug := _slug(problem)) in statuses}
    assert {"not-found", "not-allowed", "validation-failed", "payload-too-large", "deadline-exceeded"} <= shared
    for problem in _gateway_errors("dev").values():
        assert statuses.get(_slug(problem), problem["status"]) == problem["status"]


@pytest.mark.parametrize("environment", NAMES)
def test_an_error_has_the_form_in_which_the_function_answers_clients_of_the_openai_api(environment: str) -> None:
    for name, problem in _gateway_errors(environment).items():
        answer = {
            "statusCode": problem["status"],
            "multiValueHeaders": {"Content-Type": [problems.CONTENT_TYPE]},
            "body": json.dumps({name: value for name, value in problem.items() if name != "error"}),
        }
        expected = json.loads(openai_errors.convert(answer, is_question=True)["body"])["error"]
        assert problem["error"] == expected, name
        openai_errors.ErrorResponse.model_validate(problem, strict=True)


@pytest.mark.parametrize("body", ["", "{", "not JSON", "[]", "1", '"How?"', "null"])
def test_a_body_that_is_not_an_object_gets_the_same_error_from_both(client: Client, body: str) -> None:
    assert not _model_accepts(body)
    assert _without_id(_gateway_errors("dev")["BAD_REQUEST_BODY"]) == _without_id(
        client.post("/api/chat/query", body)[1]
    )


@pytest.mark.parametrize("body", ["{}", '{"query": ""}', '{"querry": "How?"}', '{"query": 1}'])
def test_the_function_validates_the_fields_of_an_object(client: Client, body: str) -> None:
    assert _model_accepts(body)
    errors = client.post("/api/chat/query", body)[1]["errors"]
    assert errors[0]["field"] in ("query", "querry")


def test_an_unknown_path_gets_the_same_error_from_both(client: Client) -> None:
    error = _gateway_errors("dev")["MISSING_AUTHENTICATION_TOKEN"]
    assert _without_id(error) == _without_id(client.request("GET", "/api/nothing")[1])


def _gateway_errors(environment: str) -> dict[str, dict[str, Any]]:
    """The gateway's problems, by response type."""
    responses = properties(synthesis().service[environment], "AWS::ApiGateway::GatewayResponse")
    return {one["ResponseType"]: json.loads(one["ResponseTemplates"]["application/json"]) for one in responses}


def _model_accepts(body: str) -> bool:
    """Whether the model of the body accepts it."""
    try:
        value = json.loads(body or "null")
    except ValueError:
        return False
    return Draft4Validator(one(synthesis().service["dev"], "AWS::ApiGateway::Model")["Schema"]).is_valid(value)


def _slug(problem: dict[str, Any]) -> str:
    return str(problem["type"]).removeprefix(problems.TYPE_PREFIX)


def _without_id(problem: dict[str, Any]) -> dict[str, Any]:
    """A problem without its id and, as the function sees the path, without the error for clients of other routes."""
    return {name: value for name, value in problem.items() if name not in ("query_id", "error")}
