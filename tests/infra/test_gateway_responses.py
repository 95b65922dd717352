"""The responses of API Gateway itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import aws_apigateway as apigateway

from infra.environment import Environment
from tests.infra.synthesis import EVERY, Synthesis, properties

# All response types of API Gateway. Types without a response of their own get a default one, which lacks the status.
TYPES = {
    value.response_type
    for name in vars(apigateway.ResponseType)
    if isinstance(value := getattr(apigateway.ResponseType, name), apigateway.ResponseType)
}


@EVERY
def test_every_error_is_a_problem_document(synthesised: Synthesis, environment: Environment) -> None:
    responses = _responses(synthesised, environment.name)
    assert len(TYPES) > 15
    assert set(responses) == TYPES
    for response in responses.values():
        problem = _problem(response)
        assert problem["type"].startswith("urn:gleaner:problem:")
        assert str(problem["status"]) == response["StatusCode"]
        assert _headers(response)["Content-Type"] == "'application/problem+json'"


@EVERY
def test_errors_have_the_id_headers_of_answers(synthesised: Synthesis, environment: Environment) -> None:
    for response in _responses(synthesised, environment.name).values():
        headers = _headers(response)
        assert headers["X-Query-Id"] == headers["X-Request-Id"] == "context.requestId"
        assert _problem(response)["query_id"] == "$context.requestId"
        exposed = ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers")
        assert all((name in headers) == bool(environment.cors_origins) for name in exposed)


@pytest.mark.parametrize(
    ("name", "status", "slug"), [("dev", 404, "not-found"), ("prod", 404, "not-found"), ("iam", 403, "not-allowed")]
)
def test_missing_credentials_are_reported_where_requests_are_signed(
    synthesised: Synthesis, name: str, status: int, slug: str
) -> None:
    problem = _problem(_responses(synthesised, name)["MISSING_AUTHENTICATION_TOKEN"])
    assert (problem["status"], problem["type"]) == (status, f"urn:gleaner:problem:{slug}")


@pytest.mark.parametrize(
    ("name", "types", "wanted"),
    [("prod", ("UNAUTHORIZED",), "token"), ("dev", ("UNAUTHORIZED", "INVALID_API_KEY"), "x-api-key")],
)
def test_a_caller_without_valid_credentials_learns_which_are_wanted(
    synthesised: Synthesis, name: str, types: tuple[str, ...], wanted: str
) -> None:
    for type in types:
        response = _responses(synthesised, name)[type]
        assert response["StatusCode"] == "401"
        assert "Bearer" in json.dumps(response["ResponseParameters"]["gatewayresponse.header.WWW-Authenticate"])
        problem = _problem(response)
        assert problem["type"] == "urn:gleaner:problem:unauthorized"
        assert wanted in problem["detail"]
        assert "Authorization: Bearer" in problem["detail"]


@EVERY
def test_every_error_is_one_of_the_openai_api_as_well(synthesised: Synthesis, environment: Environment) -> None:
    for response in _responses(synthesised, environment.name).values():
        problem = _problem(response)
        error = problem["error"]
        assert error["message"] == problem["detail"]
        assert (error["type"] == "server_error") == (problem["status"] >= 500)


@EVERY
def test_a_question_that_is_paid_for_or_beyond_the_quota_is_not_sent_again(
    synthesised: Synthesis, environment: Environment
) -> None:
    responses = _responses(synthesised, environment.name)
    never_again = {name for name, response in responses.items() if "x-should-retry" in _headers(response)}
    assert never_again == {"INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT", "DEFAULT_5XX", "QUOTA_EXCEEDED"}
    assert {_headers(responses[name])["x-should-retry"] for name in never_again} == {"'false'"}


def _responses(synthesised: Synthesis, name: str) -> dict[str, dict[str, Any]]:
    responses = properties(synthesised.service[name], "AWS::ApiGateway::GatewayResponse")
    return {response["ResponseType"]: response for response in responses}


def _headers(response: dict[str, Any]) -> dict[str, str]:
    prefix = "gatewayresponse.header."
    return {name.removeprefix(prefix): value for name, value in response["ResponseParameters"].items()}


def _problem(response: dict[str, Any]) -> dict[str, Any]:
    problem: dict[str, Any] = json.loads(response["ResponseTemplates"]["application/json"])
    return problem
