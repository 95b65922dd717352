"""The deployed environment: answers, refuses, throttles, moves its alias, prunes by schedule, and goes away."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from gleaner_local.aws import ministack
from infra.environments import Authorizer
from tests.e2e.commands import ENVIRONMENT, GLEANER
from tests.e2e_cloud.conftest import Cloud
from tests.e2e_cloud.deployment import REGION

pytestmark = pytest.mark.slow

QUESTION = "/api/chat/query"
PROBLEM = "application/problem+json"


def test_health_and_the_description_are_open(cloud: Cloud) -> None:
    assert cloud.http.get("/api/health").json() == {"status": "ok"}
    assert QUESTION in cloud.http.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}])
def test_without_a_valid_key_nothing_is_answered(cloud: Cloud, headers: dict[str, str]) -> None:
    answer = cloud.http.post(QUESTION, json={"query": "How are duplicates merged?"}, headers=headers)
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["type"] == "urn:gleaner:problem:not-allowed"


def test_the_gateway_answers_as_the_function_does(cloud: Cloud) -> None:
    caller = cloud.key("ApiKeyId")
    for method, path, body, status, slug in (
        ("POST", QUESTION, "{", HTTPStatus.BAD_REQUEST, "validation-failed"),
        ("POST", QUESTION, '{"querry": "How?"}', HTTPStatus.BAD_REQUEST, "validation-failed"),
        ("GET", "/api/nothing", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/nothing", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/api/chat", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("GET", "/", None, HTTPStatus.NOT_FOUND, "not-found"),
        ("DELETE", QUESTION, None, HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed"),
        ("POST", "/api/health", "{}", HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed"),
    ):
        headers = caller | {"content-type": "application/json"}
        answer = cloud.http.request(method, path, content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), (method, path, answer.text)
        assert answer.json()["type"] == f"urn:gleaner:problem:{slug}"
        assert answer.json()["query_id"] == answer.headers["x-query-id"]
        assert answer.headers["x-request-id"]


def test_a_question_is_answered_from_the_knowledge_base(cloud: Cloud) -> None:
    answer = _ask(cloud, "How are duplicate keywords merged?")
    assert answer["status"] == "success"
    assert answer["sources"][0]["source_file_path"] == "docs/keywords.md"


def test_a_question_is_answered_from_the_web_and_learned(cloud: Cloud) -> None:
    answer = _ask(cloud, "What is Starlette?")
    assert answer["used_tools"].count("perplexity_search") == 1
    assert answer["keyword_count"] >= 3
    assert len(_keywords(cloud)) >= 3


def test_the_role_allows_what_the_routes_do(cloud: Cloud) -> None:
    caller = cloud.key("ApiKeyId")
    session = cloud.http.post("/api/sessions", json={}, headers=caller)
    assert session.status_code == HTTPStatus.CREATED, session.text
    path = f"/api/sessions/{session.json()['session_id']}"
    body, once = {"query": "How are duplicate keywords merged?"}, caller | {"idempotency-key": "once"}
    turn, again = [cloud.http.post(f"{path}/chat", json=body, headers=once) for _ in range(2)]
    assert turn.status_code == HTTPStatus.OK, turn.text
    assert again.json() == turn.json()
    assert len(cloud.http.get(f"{path}/messages", headers=caller).json()["messages"]) == 2
    query_id = turn.headers["x-query-id"]
    calls = cloud.http.get(f"/api/queries/{query_id}/tool-calls", headers=caller).json()["tool_calls"]
    assert calls[-1]["tool_name"] == "generate_response"
    rated = cloud.http.post(f"/api/queries/{query_id}/feedback", json={"rating": 5}, headers=caller)
    assert rated.status_code == HTTPStatus.OK, rated.text
    cloud.http.delete(path, headers=caller)  # the emulator itself fails on an answer without a body, as this one's
    assert cloud.http.get(path, headers=caller).status_code == HTTPStatus.NOT_FOUND


def test_the_doctor_finds_what_the_emulator_left_out_and_nothing_else(cloud: Cloud) -> None:
    _live_version(cloud, ready=True)
    problems = [one for one in _doctor(cloud)["findings"] if one["state"] == "PROBLEM"]
    # CloudFormation of the emulator drops the recovery of the four tables, and the expiry of one.
    assert [one["subject"] for one in problems] == ["table upkeep"] * 5, problems
    dynamodb = cloud.deployment.client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        dynamodb.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
    dynamodb.update_time_to_live(
        TableName=cloud.outputs["IdempotencyTable"],
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "expiration"},
    )
    found = _doctor(cloud)
    assert found["problems"] == 0
    assert {one["subject"] for one in found["findings"] if one["state"] == "ok"} >= {
        *("AWS account", "stacks", "tables", "table upkeep", "secret", "query function", "configuration"),
        *("language model", "vector index", "web search", "schedule", "alarms", "API"),
    }


def test_the_usage_plan_throttles(cloud: Cloud) -> None:
    headers = cloud.key("ApiKeyId")
    with ThreadPoolExecutor(2) as pool:  # the emulator starts a function's process for each request at once
        answers = list(pool.map(lambda _: cloud.http.get("/api/sessions", headers=headers), range(60)))
    refused = [answer for answer in answers if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS]
    assert refused
    assert {answer.json()["type"] for answer in refused} == {"urn:gleaner:problem:throttled"}
    assert {answer.status_code for answer in answers} == {HTTPStatus.OK, HTTPStatus.TOO_MANY_REQUESTS}
    _until(lambda: cloud.http.get("/api/sessions", headers=headers).status_code == HTTPStatus.OK)


def test_the_schedule_prunes(cloud: Cloud) -> None:
    assert _keywords(cloud)
    scheduler = cloud.deployment.client("scheduler")
    (found,) = scheduler.list_schedules()["Schedules"]
    schedule = scheduler.get_schedule(Name=found["Name"])
    assert schedule["ScheduleExpression"] == f"rate({cloud.environment.pruning.every_hours} hours)"
    # The same schedule, with its target and role, at a rate that a test can wait for.
    scheduler.update_schedule(
        Name=found["Name"],
        ScheduleExpression="rate(1 minutes)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target=schedule["Target"],
    )
    _until(lambda: _keywords(cloud) == [], seconds=120)


def test_a_run_of_pruning_that_fails_for_good_is_kept(cloud: Cloud) -> None:
    client = cloud.deployment.client
    prune, sqs = cloud.outputs["PruneFunctionName"], client("sqs")
    variables = client("lambda").get_function_configuration(FunctionName=prune)["Environment"]["Variables"]
    broken = {"Variables": variables | {"MIN_USAGE": "no number"}}
    client("lambda").update_function_configuration(FunctionName=prune, Environment=broken)
    client("lambda").invoke(FunctionName=prune, InvocationType="Event", Payload=b'{"from": "a test"}')
    # The queue takes encrypted connections only; the emulator believes that one ended before it.
    sqs.meta.events.register(
        "before-sign.sqs", lambda request, **_: request.headers.add_header("x-forwarded-proto", "https")
    )
    (queue,) = sqs.list_queues()["QueueUrls"]
    kept: list[dict[str, Any]] = []

    def arrived() -> bool:
        kept.extend(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", ()))
        return any("a test" in message["Body"] for message in kept)

    _until(arrived)


def test_a_second_version_moves_the_alias(cloud: Cloud) -> None:
    first = _live_version(cloud)
    cloud.deploy_service(replace(cloud.environment, web_answer_max_age_days=31))
    assert int(_live_version(cloud)) == int(first) + 1
    assert _ask(cloud, "How are duplicate keywords merged?")["status"] == "success"


def test_another_index_reaches_the_version_that_answers(cloud: Cloud) -> None:
    first, host = _live_version(cloud), cloud.index_host
    for index_host in (f"{host}/", host):
        cloud.index_host = index_host
        cloud.deploy_service(cloud.environment)
        assert _live_variables(cloud)["PINECONE_INDEX_HOST"] == index_host
    assert int(_live_version(cloud)) > int(first)
    assert _ask(cloud, "How are duplicate keywords merged?")["status"] == "success"


def test_a_user_of_the_pool_signs_in_and_asks(cloud: Cloud) -> None:
    """The steps of docs/09, by the calls that its commands make."""
    environment = replace(cloud.environment, name="users", authorizer=Authorizer.COGNITO)
    question = {"query": "How are duplicate keywords merged?"}
    with cloud.beside(environment) as users:
        refused = users.http.post(QUESTION, json=question)
        assert (refused.status_code, refused.headers["content-type"]) == (HTTPStatus.UNAUTHORIZED, PROBLEM)
        assert refused.headers["www-authenticate"] == "Bearer"
        for email, groups, may_prune in (
            ("user@example.com", (), HTTPStatus.FORBIDDEN),
            ("admin@example.com", ("admin",), HTTPStatus.OK),
        ):
            bearer = {"authorization": f"Bearer {_sign_in(users, email, groups)}"}
            answer = users.http.post(QUESTION, json=question, headers=bearer)
            assert answer.status_code == HTTPStatus.OK, answer.text
            assert users.http.post("/api/keywords/prune", json={}, headers=bearer).status_code == may_prune


def test_the_stacks_leave_nothing_behind(cloud: Cloud) -> None:
    client = cloud.deployment.client
    key = cloud.key("ApiKeyId")
    cloud.deployment.destroy(cloud.service_stack)
    assert client("dynamodb").list_tables()["TableNames"]
    assert cloud.key("ApiKeyId") == key  # callers stay who they are
    cloud.deployment.destroy(cloud.data_stack)
    assert client("apigateway").get_api_keys()["items"] == []
    assert cloud.deployment.stacks() == set()
    assert client("dynamodb").list_tables()["TableNames"] == []
    assert client("lambda").list_functions()["Functions"] == []
    assert client("apigateway").get_rest_apis()["items"] == []
    assert client("scheduler").list_schedules()["Schedules"] == []


def _sign_in(cloud: Cloud, email: str, groups: Sequence[str]) -> str:
    """The ID token of a new user."""
    client, pool, password = cloud.deployment.client("cognito-idp"), cloud.outputs["UserPoolId"], "Correct-horse-9"
    attributes = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
    client.admin_create_user(UserPoolId=pool, Username=email, UserAttributes=attributes, MessageAction="SUPPRESS")
    client.admin_set_user_password(UserPoolId=pool, Username=email, Password=password, Permanent=True)
    for group in groups:
        client.admin_add_user_to_group(UserPoolId=pool, Username=email, GroupName=group)
    signed_in = client.admin_initiate_auth(
        UserPoolId=pool,
        ClientId=cloud.outputs["UserPoolClientId"],
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": password},
    )
    token: str = signed_in["AuthenticationResult"]["IdToken"]
    return token


def _ask(cloud: Cloud, query: str) -> dict[str, Any]:
    response = cloud.http.post(QUESTION, json={"query": query}, headers=cloud.key("ApiKeyId"))
    assert response.status_code == HTTPStatus.OK, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _doctor(cloud: Cloud) -> dict[str, Any]:
    """What `gleaner doctor` finds in the environment."""
    emulator = {"AWS_ENDPOINT_URL": cloud.deployment.endpoint_url, "AWS_REGION": REGION} | ministack.CREDENTIALS
    command = [GLEANER, "doctor", "--env", "dev", "--url", str(cloud.http.base_url), "--json"]
    ended = subprocess.run(
        command, env=ENVIRONMENT | emulator, capture_output=True, text=True, timeout=120, check=False
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == (1 if found["problems"] else 0)
    return found


def _keywords(cloud: Cloud) -> list[Any]:
    found: list[Any] = cloud.http.get("/api/keywords", headers=cloud.key("ApiKeyId")).json()["keywords"]
    return found


def _live_version(cloud: Cloud, *, ready: bool = False) -> str:
    """The version that the API invokes; with `ready` it is waited for."""
    client, function = cloud.deployment.client("lambda"), cloud.outputs["QueryFunctionName"]
    if ready:
        client.get_waiter("function_active_v2").wait(FunctionName=function, Qualifier="live")
    version: str = client.get_alias(FunctionName=function, Name="live")["FunctionVersion"]
    return version


def _live_variables(cloud: Cloud) -> dict[str, str]:
    """The variables of the version that the API invokes."""
    client, function = cloud.deployment.client("lambda"), cloud.outputs["QueryFunctionName"]
    found: dict[str, str] = client.get_function_configuration(FunctionName=function, Qualifier="live")["Environment"][
        "Variables"
    ]
    return found


def _until(holds: Callable[[], bool], *, seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.5)
